export { makePrivateFolder, removeDurably, writeDurably } from './durable-file.ts'
export { type HostMounts, hostPath } from './host-path.ts'
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
export { readIfThere, type SeenFile, seeFile } from './seen-file.ts'
