import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { matchesSelector } from './label-selector.ts'

/** Why a pod cannot leave now. */
export interface Refusal {
  readonly pod: PodObject
  /** Absent when it is not a budget that refuses. */
  readonly budget?: PodDisruptionBudget
  readonly why: string
  /** It cannot pass without a change of the budget or the workload. */
  readonly neverPasses: boolean
}

export function budgetKey({ metadata }: PodDisruptionBudget): string {
  return `${metadata.namespace}/${metadata.name}`
}

export function budgetsOf(pod: PodObject, budgets: readonly PodDisruptionBudget[]): PodDisruptionBudget[] {
  return budgets.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace && matchesSelector(spec?.selector, pod.metadata.labels),
  )
}

/**
 * Whether the budgets that cover a pod let it go, given how much room other evictions have left. `room` holds what is
 * left of budgets that were already drawn from.
 */
export function refusalOf(
  pod: PodObject,
  covering: readonly PodDisruptionBudget[],
  room: ReadonlyMap<string, number> = new Map(),
): Refusal | undefined {
  const [budget, second] = covering
  if (!budget || isBeyondBudgets(pod)) return undefined
  const name = budgetKey(budget)
  if (second)
    return {
      pod,
      budget,
      why: `PodDisruptionBudgets ${name} and ${second.metadata.name} both cover it; the API server refuses such pods always`,
      neverPasses: true,
    }
  const { status } = budget
  const left = room.get(name) ?? status?.disruptionsAllowed ?? 0
  if (left > 0 || mayGoUnhealthy(pod, budget)) return undefined
  const neverPasses = canNeverPass(budget)
  const figures = status
    ? `${status.currentHealthy} of ${status.expectedPods} pods are healthy, ${status.desiredHealthy} must be`
    : 'it has no status yet'
  const cure = isReady(pod)
    ? ''
    : '; the pod itself is not ready, and unhealthyPodEvictionPolicy AlwaysAllow would let it go'
  const why = neverPasses
    ? `PodDisruptionBudget ${name} allows no disruption, ever: ${figures}; change it, or run more replicas`
    : `PodDisruptionBudget ${name} has nothing to give now: ${figures}`
  return { pod, budget, why: `${why}${cure}`, neverPasses }
}

/** They start pods again as they were, and give none of them another part to play. */
const plainControllers: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'Job'])

/**
 * Operators of databases keep a budget on the one pod that is the primary, and make another one the primary once they see
 * the cordon (CloudNativePG, Zalando's for PostgreSQL). By the figures such a budget never passes; after the cordon it does.
 */
export function mayPassAfterCordon({ pod, budget }: Refusal): boolean {
  const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true)
  const isPlain = controller === undefined || plainControllers.has(controller.kind)
  return !isPlain && budget?.spec?.maxUnavailable === undefined && budget?.status?.expectedPods === 1
}

/** Whether its eviction uses up some of what the budget has to give. */
export function drawsFrom(pod: PodObject, budget: PodDisruptionBudget): boolean {
  return !isBeyondBudgets(pod) && !mayGoUnhealthy(pod, budget)
}

/** Serves nobody: the API server asks no budget about such a pod (`canIgnorePDB`), so it may go even where two cover it. */
function isBeyondBudgets(pod: PodObject): boolean {
  return ['Pending', 'Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
}

/** As the API server has it: a pod that is not ready may go, unless it takes the last hope of a disturbed application. */
function mayGoUnhealthy(pod: PodObject, { spec, status }: PodDisruptionBudget): boolean {
  if (isReady(pod)) return false
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  return status !== undefined && status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy
}

function isReady(pod: PodObject): boolean {
  return pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false
}

/** True only when the figures are about the present spec: doubt is "may pass later". */
function canNeverPass({ metadata, spec, status }: PodDisruptionBudget): boolean {
  if (spec?.maxUnavailable === 0 || spec?.maxUnavailable === '0%') return true
  if (!status || status.observedGeneration !== metadata.generation) return false
  return status.expectedPods > 0 && status.desiredHealthy >= status.expectedPods
}
