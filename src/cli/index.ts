export type { CliContext } from './context.ts'
export type { AgentSettings, ControllerSettings } from './controller.ts'
export { createProgram } from './program.ts'
