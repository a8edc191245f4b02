export { BlockerBoard, type Candidate } from './blocker-board.ts'
export { blockersNow } from './decide-blockers.ts'
