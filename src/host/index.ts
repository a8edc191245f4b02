export {
  endProcess,
  freezeProcess,
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
