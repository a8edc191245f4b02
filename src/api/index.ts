export { type AdmissionPolicy, admissionPolicies, type VirtualVerb, virtualVerbs } from './admission-policies.ts'
export {
  longestReason,
  type RequestVerb,
  rebootAnnotation,
  rebootAnnotationKey,
  releaseAnnotations,
  requestVerbs,
  verbAnnotations,
} from './annotations.ts'
export {
  type AlertsBlocker,
  type Blocker,
  blockerSecretName,
  type HookBlocker,
  type NodeConditionBlocker,
  type PodsBlocker,
} from './blocker.ts'
export {
  type CustomResourceDefinition,
  customResourceDefinitions,
  kinds,
  objectSchema,
} from './custom-resource-definition.ts'
export { group, type KindDefinition, type PrinterColumn, type Rule, version } from './kind.ts'
export {
  budgetName,
  type MaintenanceBudgetSpec,
  type MaintenanceBudgetStatus,
  maintenanceBudget,
  type NumberOrPercent,
  type Slot,
} from './maintenance-budget.ts'
export { type MaintenanceFreezeSpec, type MaintenanceFreezeStatus, maintenanceFreeze } from './maintenance-freeze.ts'
export { isDetected, type MaintenanceRequestSpec, maintenanceRequest } from './maintenance-request.ts'
export { type MaintenanceWindowSpec, type MaintenanceWindowStatus, maintenanceWindow } from './maintenance-window.ts'
export { type CompatibleProgram, compatiblePrograms, type ForeignLock, type Marks } from './marks.ts'
export { type Notification, type NotifyOccasion, notifyOccasions, notifySecretName } from './notification.ts'
export {
  type MaintenanceBudget,
  type MaintenanceFreeze,
  type MaintenanceRequest,
  type MaintenanceWindow,
  maintenanceBudgets,
  maintenanceFreezes,
  maintenanceRequests,
  maintenanceWindows,
} from './objects.ts'
export {
  type HeldReason,
  type MaintenanceRequestStatus,
  type Outcome,
  type Phase,
  phaseMeanings,
  type RequestCondition,
  type Waiting,
} from './request-status.ts'
export type { StructuralSchema } from './structural-schema.ts'
