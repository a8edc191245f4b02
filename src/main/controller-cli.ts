import { setFlagsFromString } from 'node:v8'
import { createControllerProgram } from '../cli/index.ts'
import { runController } from './controller.ts'
import { runProgram } from './process.ts'

// Left alone, a burst of 500 nodes leaves a heap that is four parts garbage, and it stays for hours. This costs a tenth of the time.
setFlagsFromString('--optimize-for-size')
setFlagsFromString('--semi-space-growth-factor=1')

/** `fettle controller` alone: what people type is not in its memory. */
await runProgram((context) => createControllerProgram(context, runController))
