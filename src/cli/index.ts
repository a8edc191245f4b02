export type { CliContext } from './context.ts'
export { createProgram } from './program.ts'
