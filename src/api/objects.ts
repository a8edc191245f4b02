import type { KubeObject, Resource } from '../kube/index.ts'
import { group, type KindDefinition, version } from './kind.ts'
import { type MaintenanceBudgetSpec, type MaintenanceBudgetStatus, maintenanceBudget } from './maintenance-budget.ts'
import { type MaintenanceFreezeSpec, type MaintenanceFreezeStatus, maintenanceFreeze } from './maintenance-freeze.ts'
import { type MaintenanceRequestSpec, maintenanceRequest } from './maintenance-request.ts'
import { type MaintenanceWindowSpec, type MaintenanceWindowStatus, maintenanceWindow } from './maintenance-window.ts'
import type { MaintenanceRequestStatus } from './request-status.ts'

export interface MaintenanceRequest extends KubeObject {
  readonly spec: MaintenanceRequestSpec
  readonly status?: MaintenanceRequestStatus
}

export interface MaintenanceBudget extends KubeObject {
  readonly spec: MaintenanceBudgetSpec
  readonly status?: MaintenanceBudgetStatus
}

export interface MaintenanceWindow extends KubeObject {
  readonly spec: MaintenanceWindowSpec
  readonly status?: MaintenanceWindowStatus
}

export interface MaintenanceFreeze extends KubeObject {
  readonly spec: MaintenanceFreezeSpec
  readonly status?: MaintenanceFreezeStatus
}

export const maintenanceRequests = resourceOf(maintenanceRequest)
export const maintenanceBudgets = resourceOf(maintenanceBudget)
export const maintenanceWindows = resourceOf(maintenanceWindow)
export const maintenanceFreezes = resourceOf(maintenanceFreeze)

function resourceOf({ kind, plural }: KindDefinition): Resource {
  return { group, version, plural, kind, namespaced: false }
}
