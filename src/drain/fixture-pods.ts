import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import type { DrainWorld } from './plan.ts'
import { type DaemonSets, daemonSetsByUid } from './stopped-daemonsets.ts'

/** Small worlds for the tests of this room. */

export const owner = (kind: string, controller = true) => [
  { apiVersion: 'apps/v1', kind, name: 'web', uid: 'o', controller },
]

export function pod(name: string, metadata: object = {}, phase = 'Running'): PodObject {
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: name,
      labels: { app: 'web' },
      ownerReferences: owner('ReplicaSet'),
      ...metadata,
    },
    status: { phase, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

export function ofPriority(name: string, priority: number, metadata: object = {}): PodObject {
  return { ...pod(name, metadata), spec: { priority } }
}

/** The DaemonSet that `owner` names. */
export function daemonSets(...tolerations: { readonly key?: string; readonly effect?: string }[]): DaemonSets {
  return daemonSetsByUid([
    { metadata: { namespace: 'shop', name: 'web', uid: 'o' }, spec: { template: { spec: { tolerations } } } },
  ])
}

/** It is known, and to be stopped. */
export const stopped = { daemonSets: daemonSets(), settings: { stopDaemonSets: [{ namespace: 'shop', name: 'web' }] } }

export function budget(disruptionsAllowed: number): PodDisruptionBudget {
  return {
    metadata: { namespace: 'shop', name: 'web', generation: 1, resourceVersion: '1' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    status: { observedGeneration: 1, disruptionsAllowed, currentHealthy: 5, desiredHealthy: 1, expectedPods: 6 },
  }
}

export const critical = 2_000_000_000

export const now = Date.parse('2026-03-01T12:00:00Z')

export function world(
  pods: readonly PodObject[],
  { settings, ...more }: Partial<Omit<DrainWorld, 'settings'>> & { settings?: Partial<DrainWorld['settings']> } = {},
): DrainWorld {
  return {
    pods,
    budgets: [],
    isNodeReady: true,
    nowMs: now,
    ...more,
    settings: { backend: 'Auto', isForced: false, ...settings },
  }
}
