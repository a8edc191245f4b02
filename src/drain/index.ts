export { type AskResult, askPods, dryRunPods } from './ask-pods.ts'
export { offersEvictionRequest, withdrawEvictionRequests } from './backends/eviction-request.ts'
export {
  type CordonClaim,
  cordonClaim,
  cordonOwners,
  cordonPatch,
  forgetOwnerPatch,
  isCordonedBy,
  isCordonLeftOver,
  type NodePatch,
  restorePatch,
} from './cordon.ts'
export { budgetKey, mayPassAfterCordon, type Refusal } from './disruption-budgets.ts'
export { EvictionPace } from './eviction-pace.ts'
export { forcedDrainMs, stragglersText } from './forced-drain.ts'
export { matchesSelector } from './label-selector.ts'
export {
  clearLifecycleConditions,
  isSilent,
  type LifecycleConditions,
  type LifecyclePatch,
  lifecycleConditions,
} from './lifecycle-conditions.ts'
export { isLabelKey } from './marks.ts'
export { isPlaceFor } from './placement.ts'
export { type DrainPlan, type DrainSettings, type DrainWorld, judgePods, type PodToAsk, planDrain } from './plan.ts'
export type { PodFate } from './pod-fate.ts'
export { type DrainPreview, type PreviewedPod, previewDrain } from './preview.ts'
export { hasStopTaint } from './stop-taint.ts'
export { type DaemonSetName, type DaemonSetObject, type DaemonSets, daemonSetsByUid } from './stopped-daemonsets.ts'
export { volumesOn, volumesToWaitFor } from './volumes.ts'
