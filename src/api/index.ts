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
export { type MaintenanceRequestSpec, maintenanceRequest } from './maintenance-request.ts'
export { type MaintenanceBudget, type MaintenanceRequest, maintenanceBudgets, maintenanceRequests } from './objects.ts'
export {
  type MaintenanceRequestStatus,
  type Outcome,
  type Phase,
  phaseMeanings,
  type RequestCondition,
  type Waiting,
} from './request-status.ts'
export type { StructuralSchema } from './structural-schema.ts'
