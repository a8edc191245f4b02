import { createAgentProgram } from '../cli/index.ts'
import { startAgent } from './agent.ts'
import { runProgram } from './process.ts'

/** `fettle agent` alone, because it runs on every node: what it does not need is not in its memory. */
await runProgram((context) => createAgentProgram(context, startAgent))
