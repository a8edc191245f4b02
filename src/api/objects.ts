import type { KubeObject, Resource } from '../kube/index.ts'
import { group, type KindDefinition, version } from './kind.ts'
import { type MaintenanceBudgetSpec, type MaintenanceBudgetStatus, maintenanceBudget } from './maintenance-budget.ts'
import { type MaintenanceRequestSpec, maintenanceRequest } from './maintenance-request.ts'
import type { MaintenanceRequestStatus } from './request-status.ts'

export interface MaintenanceRequest extends KubeObject {
  readonly spec: MaintenanceRequestSpec
  readonly status?: MaintenanceRequestStatus
}

export interface MaintenanceBudget extends KubeObject {
  readonly spec: MaintenanceBudgetSpec
  readonly status?: MaintenanceBudgetStatus
}

export const maintenanceRequests = resourceOf(maintenanceRequest)
export const maintenanceBudgets = resourceOf(maintenanceBudget)

function resourceOf({ kind, plural }: KindDefinition): Resource {
  return { group, version, plural, kind, namespaced: false }
}
