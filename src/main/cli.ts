import { createProgram } from '../cli/index.ts'
import { DevFault } from '../dev/index.ts'
import { startAgent } from './agent.ts'
import { runController } from './controller.ts'
import { runProgram } from './process.ts'

await runProgram(
  (context) => createProgram(context, { controller: runController, agent: startAgent }),
  (error) => (error instanceof DevFault ? error.message : undefined),
)
