import { setFlagsFromString } from 'node:v8'
import { createSyncProgram } from '../cli/index.ts'
import { runProgram } from './process.ts'

/** Most runs are over before optimised code has paid for its compilation, which was a quarter of their work. */
const shortMs = 5_000
setFlagsFromString('--no-opt')
setTimeout(() => setFlagsFromString('--opt'), shortMs).unref()

/** `fettle sync` alone: a command that ends in a second should not take half of it to start. */
await runProgram(createSyncProgram)
