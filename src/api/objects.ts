import type { KubeObject, Resource } from '../kube/index.ts'
import { group, version } from './kind.ts'
import type { MaintenanceBudgetSpec, MaintenanceBudgetStatus } from './maintenance-budget.ts'
import type { MaintenanceFreezeSpec, MaintenanceFreezeStatus } from './maintenance-freeze.ts'
import type { MaintenanceRequestSpec } from './maintenance-request.ts'
import type { MaintenanceWindowSpec, MaintenanceWindowStatus } from './maintenance-window.ts'
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

// Written out, so that the agent, which needs one of them, does not carry all schemas in its memory.
export const maintenanceRequests = resource('MaintenanceRequest', 'maintenancerequests')
export const maintenanceBudgets = resource('MaintenanceBudget', 'maintenancebudgets')
export const maintenanceWindows = resource('MaintenanceWindow', 'maintenancewindows')
export const maintenanceFreezes = resource('MaintenanceFreeze', 'maintenancefreezes')

function resource(kind: string, plural: string): Resource {
  return { group, version, plural, kind, namespaced: false }
}
