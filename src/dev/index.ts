export {
  bringUp,
  controlPlaneProgram,
  type DevReport,
  isReady,
  startCluster,
  type UpOptions,
  waitForReadyNodes,
} from './bring-up.ts'
export { adminKubeconfig, apiServerUrl, type ClusterRecord, readRecord } from './cluster-record.ts'
export { connectTo } from './connect.ts'
export type { ControlPlaneComponent } from './control-plane.ts'
export { DevFault } from './errors.ts'
export { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
export { freezeComponent, issueExpirableToken, killComponent, restartComponents } from './faults.ts'
export { importImage, runInMachine } from './machine/machine.ts'
export { missingForRealNodes } from './machine/needs.ts'
export { healMachine, partitionMachine } from './machine/network.ts'
export { clusterFolder, type Places, packageFolder, places } from './places.ts'
export {
  addRealNodes,
  logPathOf,
  prepareMachines,
  realNode,
  realNodeNames,
  rebootRealNode,
  removeRealNode,
} from './real-nodes.ts'
export {
  addSimulatedNodes,
  rebootSimulatedNode,
  removeNode,
  setNotReady,
  simulatedNodeNames,
  taintSimulatedNodes,
} from './simulated-nodes.ts'
export { allStatuses, type ClusterStatus, statusOf } from './status.ts'
export { stopCluster, takeDown } from './take-down.ts'
