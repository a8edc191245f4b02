import type { KubeClient, KubeObject } from '../../kube/index.ts'
import { resources } from '../../kube/index.ts'

/** What runs in the demo: three services, each with a PodDisruptionBudget, as they are found in real clusters. */
export interface Workload {
  readonly name: string
  readonly replicas: number
  /** What the owners promise their users: never fewer than this. */
  readonly minAvailable: number
  /** How its pods stop. */
  readonly stop?: 'slow'
}

export const namespace = 'shop'

export const workloads: readonly Workload[] = [
  { name: 'web', replicas: 24, minAvailable: 20 },
  { name: 'search', replicas: 9, minAvailable: 7, stop: 'slow' },
  // Two of two must always run: such a budget never lets a pod go, and a person has to decide.
  { name: 'ledger', replicas: 2, minAvailable: 2 },
]

export async function createWorkloads(client: KubeClient): Promise<void> {
  await client.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
  for (const workload of workloads) {
    await client.create(resources.deployments, deployment(workload))
    await client.create(resources.podDisruptionBudgets, disruptionBudget(workload))
  }
}

export function budgetPatch(minAvailable: number) {
  return { type: 'merge', body: { spec: { minAvailable } } } as const
}

function deployment({ name, replicas, stop }: Workload) {
  const labels = { app: name }
  return {
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(stop ? { annotations: { 'simulate.fettle.dev/stop': stop } } : {}) },
        spec: {
          containers: [{ name, image: `registry.example/${name}:1` }],
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'topology.kubernetes.io/zone',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
        },
      },
    },
  }
}

function disruptionBudget({ name, minAvailable }: Workload) {
  return { metadata: { name, namespace }, spec: { minAvailable, selector: { matchLabels: { app: name } } } }
}
