export {
  endProcess,
  isAlive,
  ProcessFault,
  type ProcessIdentity,
  type RunOptions,
  type RunResult,
  run,
  runOk,
  signalProcess,
  startDetached,
  startTicksOf,
} from './process.ts'
