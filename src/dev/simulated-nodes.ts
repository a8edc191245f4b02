import { randomUUID } from 'node:crypto'
import { isAlreadyExists, isNotFound, type KubeClient, type KubeObject, resources } from '../kube/index.ts'

export const simulatedLabel = 'fettle.dev/simulated'
const annotationPrefix = 'simulate.fettle.dev'
export const rebootAnnotation = `${annotationPrefix}/reboot`
export const notReadyAnnotation = `${annotationPrefix}/not-ready`
/** Keeps pods of real workloads off nodes that only pretend; set on all simulated nodes once there is a real one. */
export const simulatedTaint = { key: simulatedLabel, value: 'true', effect: 'NoSchedule' } as const

interface Node extends KubeObject {
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[]
  }
  readonly status?: object
}

export function simulatedNode(name: string, zone: string, tainted: boolean): Node {
  const size = { cpu: '32', memory: '256Gi', pods: '250' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        [simulatedLabel]: 'true',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node-role.kubernetes.io/worker': '',
        'topology.kubernetes.io/region': 'dev',
        'topology.kubernetes.io/zone': zone,
      },
    },
    ...(tainted ? { spec: { taints: [simulatedTaint] } } : {}),
    status: { allocatable: size, capacity: size, nodeInfo: { bootID: randomUUID() } },
  }
}

/** zone-a, zone-b, …: nodes are dealt out one after the other. */
export function zoneOf(position: number, zones: number): string {
  return `zone-${String.fromCharCode(97 + (position % Math.max(1, Math.min(zones, 26))))}`
}

export async function simulatedNodeNames(client: KubeClient): Promise<string[]> {
  const names: string[] = []
  for await (const page of client.list(resources.nodes, { labelSelector: simulatedLabel }))
    names.push(...page.items.map((node) => node.metadata.name ?? ''))
  return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

/** Adds nodes until there are `count`, under the lowest free numbers. Returns the names of the new ones. */
export async function addSimulatedNodes(
  client: KubeClient,
  options: { readonly count: number; readonly zones: number; readonly tainted: boolean },
): Promise<string[]> {
  const existing = new Set(await simulatedNodeNames(client))
  const added: string[] = []
  for (let position = 0; existing.size + added.length < options.count; position++) {
    const name = `node-${position + 1}`
    if (!existing.has(name)) added.push(name)
  }
  await inParallel(added, 16, async (name) => {
    const position = Number(name.slice('node-'.length)) - 1
    try {
      await client.create(resources.nodes, simulatedNode(name, zoneOf(position, options.zones), options.tainted))
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  })
  return added
}

export async function taintSimulatedNodes(client: KubeClient): Promise<void> {
  await inParallel(await simulatedNodeNames(client), 8, async (name) => {
    const node = await client.get<Node>(resources.nodes, { name })
    const taints = node.spec?.taints ?? []
    if (taints.some((taint) => taint.key === simulatedTaint.key)) return
    const body = {
      metadata: { resourceVersion: node.metadata.resourceVersion },
      spec: { taints: [...taints, simulatedTaint] },
    }
    await client.patch(resources.nodes, { name }, { type: 'merge', body })
  })
}

/** The node goes NotReady for some seconds and returns with a new boot id, which is returned at once. */
export async function rebootSimulatedNode(client: KubeClient, name: string): Promise<string> {
  const bootID = randomUUID()
  await annotate(client, name, rebootAnnotation, bootID)
  return bootID
}

/** NotReady with this reason until `undefined` ends it. */
export async function setNotReady(client: KubeClient, name: string, why: string | undefined): Promise<void> {
  await annotate(client, name, notReadyAnnotation, why ?? null)
}

async function annotate(client: KubeClient, name: string, key: string, value: string | null): Promise<void> {
  await client.patch(
    resources.nodes,
    { name },
    { type: 'merge', body: { metadata: { annotations: { [key]: value } } } },
  )
}

export async function removeNode(client: KubeClient, name: string): Promise<void> {
  try {
    const node = await client.get(resources.nodes, { name })
    await client.delete(resources.nodes, { name }, { uid: node.metadata.uid ?? 'any' })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items]
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item)
    }),
  )
}
