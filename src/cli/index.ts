export { type AgentSettings, createAgentProgram } from './agent.ts'
export type { CliContext } from './context.ts'
export { type ControllerSettings, createControllerProgram } from './controller.ts'
export { createProgram } from './program.ts'
