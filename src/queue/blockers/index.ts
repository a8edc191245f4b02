export { BlockerBoard, type Candidate } from './blocker-board.ts'
export { blockerTokens, type ReadToken } from './blocker-tokens.ts'
export { blockersNow } from './decide-blockers.ts'
