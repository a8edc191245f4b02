import { createControllerProgram } from '../cli/index.ts'
import { runController } from './controller.ts'
import { runProgram } from './process.ts'

/** `fettle controller` alone: what people type is not in its memory. */
await runProgram((context) => createControllerProgram(context, runController))
