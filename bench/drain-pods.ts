import { setTimeout as sleep } from 'node:timers/promises'
import {
  type KubeClient,
  type KubeObject,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  type Resource,
  resources,
} from '../src/kube/index.ts'

/** The node that is drained. The others take what it had. */
export const target = 'node-1'
const namespace = 'bench-drain'
const groups = 5

export interface DrainCase {
  readonly metric: 'instantMs' | 'slowMs' | 'guardedMs'
  readonly isSlow: boolean
  readonly isGuarded: boolean
}

export const cases: readonly DrainCase[] = [
  { metric: 'instantMs', isSlow: false, isGuarded: false },
  { metric: 'slowMs', isSlow: true, isGuarded: false },
  { metric: 'guardedMs', isSlow: false, isGuarded: true },
]

/** Puts all pods on the target: while they are made, nothing else is schedulable. */
export async function layOut(client: KubeClient, { isSlow, isGuarded }: DrainCase, pods: number): Promise<void> {
  await setSchedulable(client, (name) => name === target)
  await client.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
  await retry(() => client.get(resources.serviceAccounts, { name: 'default', namespace }))
  const each = Math.ceil(pods / groups)
  for (let group = 0; group < groups; group++) {
    const app = `web-${group}`
    const annotations = isSlow ? { 'simulate.fettle.dev/stop': 'slow' } : {}
    await client.create(resources.replicaSets, {
      metadata: { name: app, namespace },
      spec: {
        replicas: Math.min(each, pods - group * each),
        selector: { matchLabels: { app } },
        template: {
          metadata: { labels: { app }, annotations },
          spec: { containers: [{ name: 'main', image: 'none.invalid/nothing' }] },
        },
      },
    } as KubeObject)
    if (isGuarded)
      await client.create<PodDisruptionBudget>(resources.podDisruptionBudgets, {
        metadata: { name: app, namespace },
        spec: { maxUnavailable: '10%', selector: { matchLabels: { app } } },
      })
  }
  await retry(async () => {
    const running = (await podsOn(client, target)).filter(({ status }) => status?.phase === 'Running')
    if (running.length !== pods) throw new Error(`${running.length} of ${pods} pods run on ${target}`)
    for (const { status } of await listOf<PodDisruptionBudget>(client, resources.podDisruptionBudgets))
      if (!status || status.currentHealthy !== status.expectedPods || status.disruptionsAllowed === 0)
        throw new Error('a PodDisruptionBudget has not counted its pods yet')
  })
  await setSchedulable(client, () => true)
}

/** Takes everything away that was laid out. */
export async function emptyNodes(client: KubeClient): Promise<void> {
  await client.delete(resources.namespaces, { name: namespace }, { uid: 'any' })
  await retry(async () => {
    const left = await listOf<KubeObject>(client, resources.namespaces)
    if (left.some(({ metadata }) => metadata.name === namespace))
      throw new Error(`namespace ${namespace} is still there`)
  })
}

export interface FollowedPods {
  /** When the last pod of the node was gone, and the longest that one of them took from being told to being gone. */
  readonly empty: Promise<{ readonly lastGoneAt: number; readonly slowestMs: number }>
}

/** Follows the pods of the node by a watch of its own, so that all contenders are timed by the same clock. */
export async function followPods(client: KubeClient, nodeName: string, signal: AbortSignal): Promise<FollowedPods> {
  const told = new Map<string, number>()
  const there = new Set((await podsOn(client, nodeName)).map(({ metadata }) => metadata.uid ?? ''))
  let onOpen = (): void => undefined
  const isOpen = new Promise<void>((resolve) => {
    onOpen = resolve
  })
  const follow = async () => {
    let slowestMs = 0
    const options = { namespace, fieldSelector: `spec.nodeName=${nodeName}`, signal, onOpen }
    for await (const event of client.watch<PodObject>(resources.pods, options)) {
      if (event.type === 'BOOKMARK') continue
      const { uid = '', deletionTimestamp } = event.object.metadata
      const now = performance.now()
      if (deletionTimestamp && !told.has(uid)) told.set(uid, now)
      if (event.type !== 'DELETED' || !there.delete(uid)) continue
      slowestMs = Math.max(slowestMs, now - (told.get(uid) ?? now))
      if (there.size === 0) return { lastGoneAt: now, slowestMs }
    }
    throw new Error('the watch of the pods ended too soon')
  }
  const empty = follow()
  // It is awaited later; until then its failure must not end the process.
  empty.catch(() => undefined)
  await isOpen
  return { empty }
}

async function setSchedulable(client: KubeClient, isSchedulable: (name: string) => boolean): Promise<void> {
  for (const { metadata, spec } of await listOf<NodeObject>(client, resources.nodes)) {
    const unschedulable = isSchedulable(metadata.name ?? '') ? null : true
    if ((spec?.unschedulable ?? null) === unschedulable) continue
    await client.patch(
      resources.nodes,
      { name: metadata.name ?? '' },
      { type: 'merge', body: { spec: { unschedulable } } },
    )
  }
}

function podsOn(client: KubeClient, nodeName: string): Promise<PodObject[]> {
  return listOf<PodObject>(client, resources.pods, `spec.nodeName=${nodeName}`)
}

async function listOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  fieldSelector?: string,
): Promise<T[]> {
  const found: T[] = []
  for await (const page of client.list<T>(resource, fieldSelector ? { fieldSelector } : {})) found.push(...page.items)
  return found
}

async function retry<T>(check: () => Promise<T>): Promise<T> {
  for (const endAt = Date.now() + 180_000; ; await sleep(100))
    try {
      return await check()
    } catch (error) {
      if (Date.now() > endAt) throw error
    }
}
