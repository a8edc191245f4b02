import { createSyncProgram } from '../cli/index.ts'
import { runProgram } from './process.ts'

/** `fettle sync` alone: a command that ends in a second should not take half of it to start. */
await runProgram(createSyncProgram)
