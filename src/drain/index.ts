export { type CordonClaim, cordonOwners, cordonPatch, isCordonedBy, type NodePatch, restorePatch } from './cordon.ts'
export type { Refusal } from './disruption-budgets.ts'
export { type EvictionResult, evictPods } from './evict.ts'
export { type DrainPlan, type PodFate, planDrain } from './plan.ts'
