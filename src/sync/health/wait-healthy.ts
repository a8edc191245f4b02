import {
  hasCode,
  type KubeClient,
  type KubeObject,
  type PodObject,
  type Resource,
  ResourceCache,
  resources,
  trimAny,
} from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import type { JsonObject } from '../json.ts'
import type { Key } from '../key.ts'
import { newBell } from './bell.ts'
import { type Health, healthOf, isHealthyAtOnce } from './health.ts'
import { podTies, tieOf } from './pods-of.ts'
import { ProgressBook, type Waited } from './progress-book.ts'

export type { Waited } from './progress-book.ts'

export interface HealthTarget {
  readonly key: Key
  readonly resource: Resource
  /** The object that was applied, or `any` for whatever bears the name. */
  readonly uid: string
}

export interface WaitHealthyOptions {
  readonly clock: Clock
  /** For all of them together, from now. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
  readonly onProgress?: (line: string) => void
}

export interface WaitHealthyResult {
  readonly outcome: 'healthy' | 'failed' | 'deadline'
  readonly waited: readonly Waited[]
}

// Some rules hold a time: a pod that finds no node for a while has failed, and no event says so.
const lookAgainMs = 1_000
// A rollout sends events in bursts.
const burstMs = 20

/**
 * Waits until all targets are healthy at the same time. Ends at once when one of them cannot become so any more: it
 * failed, it is being deleted, it is gone, or another object bears its name.
 */
export async function waitHealthy(
  client: KubeClient,
  targets: readonly HealthTarget[],
  options: WaitHealthyOptions,
): Promise<WaitHealthyResult> {
  const { clock, signal, deadlineMs } = options
  signal.throwIfAborted()
  const startedAt = clock.monotonic()
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const bell = newBell()
  const views = openViews(client, targets, { clock, signal: stop.signal, ring: bell.ring })
  const book = new ProgressBook(options, startedAt)
  try {
    for (;;) {
      const waited = targets.map((target) => book.note(target.key, views.judge(target)))
      if (waited.every(({ health }) => health.is === 'Current')) return { outcome: 'healthy', waited }
      if (waited.some(({ health }) => isLost(health))) return { outcome: 'failed', waited }
      const leftMs = deadlineMs - (clock.monotonic() - startedAt)
      if (leftMs <= 0) return { outcome: 'deadline', waited }
      await bell.rung(clock, Math.min(leftMs, lookAgainMs), stop.signal)
      await clock.sleep(Math.min(leftMs, burstMs), stop.signal)
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    stop.abort(new Error('the wait for health is over'))
  }
}

const isLost = ({ is, reason }: Health): boolean =>
  is === 'Failed' || is === 'Terminating' || is === 'NotFound' || (is === 'Unknown' && reason === 'NotReadable')

interface Views {
  judge(target: HealthTarget): Health
}

interface ViewsOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ring: () => void
}

interface View {
  readonly cache: ResourceCache<KubeObject>
  /** Why it can never be read. */
  refusal?: string
}

/** One watch for each resource and namespace; none for what is healthy as soon as it exists. */
function openViews(client: KubeClient, targets: readonly HealthTarget[], options: ViewsOptions): Views {
  const asked = targets.filter(({ key }) => !isHealthyAtOnce(key))
  const views = new Map<string, View>()
  for (const [id, here] of grouped(asked)) views.set(id, openView(client, here, options))
  const pods = new Map<string, ResourceCache<PodObject>>()
  for (const { key } of asked) {
    if (havingPods.has(key.kind) && !pods.has(key.namespace))
      pods.set(key.namespace, openPods(client, key.namespace, options))
  }
  return {
    judge: (target) => {
      const view = views.get(viewId(target))
      if (!view) return { is: 'Current', message: 'it exists' }
      if (view.refusal !== undefined) return { is: 'Unknown', reason: 'NotReadable', message: view.refusal }
      if (!view.cache.isSynced) return { is: 'Unknown', reason: 'NotReadYet', message: notReadYet(view.cache) }
      const { key, uid } = target
      const found = view.cache.get({ name: key.name, ...(key.namespace === '' ? {} : { namespace: key.namespace }) })
      if (!found)
        return { is: 'NotFound', reason: 'Deleted', message: 'somebody deleted it while its health was awaited' }
      if (uid !== 'any' && found.metadata.uid !== uid) {
        return { is: 'NotFound', reason: 'Replaced', message: 'somebody deleted it, and another object bears its name' }
      }
      const object = asJson(found, target.resource)
      const itsPods = pods.get(key.namespace)?.byIndex('byTie', tieOf(object)) ?? []
      return healthOf(object, { pods: itsPods }, options.clock.now())
    },
  }
}

function openView(client: KubeClient, targets: readonly HealthTarget[], options: ViewsOptions): View {
  const [first] = targets as readonly [HealthTarget, ...HealthTarget[]]
  const { namespace } = first.key
  const view: View = {
    cache: new ResourceCache<KubeObject>({
      client,
      resource: first.resource,
      ...(namespace === '' ? {} : { namespace }),
      ...(targets.length === 1 ? { fieldSelector: `metadata.name=${first.key.name}` } : {}),
      signal: options.signal,
      clock: options.clock,
      trim: trimAny,
      onError: (error) => {
        if (!hasCode(error, 'Forbidden', 'Unauthorized', 'NotSupported', 'GuardRefused')) return
        view.refusal = `its health cannot be read: ${error.message}`
        options.ring()
      },
    }),
  }
  follow(view.cache, options)
  return view
}

/** What is wrong with pods explains a rollout; where they may not be read it is judged without. */
function openPods(client: KubeClient, namespace: string, options: ViewsOptions): ResourceCache<PodObject> {
  const cache = new ResourceCache<PodObject>({
    client,
    resource: resources.pods,
    namespace,
    signal: options.signal,
    clock: options.clock,
    // The states of containers are what is looked for here; the usual trim of pods drops them.
    trim: trimAny,
    indexes: { byTie: podTies },
  })
  follow(cache, options)
  return cache
}

function follow<T extends KubeObject>(cache: ResourceCache<T>, { signal, ring }: ViewsOptions): void {
  cache.subscribe(ring)
  // An empty collection has no event, and yet it says that the object is gone.
  cache.waitForSync(signal).then(ring, () => undefined)
}

function notReadYet(cache: ResourceCache<KubeObject>): string {
  const { lastError } = cache.stats()
  return lastError === undefined ? 'its state is not read yet' : `its state could not be read yet: ${lastError}`
}

/** Objects of a list do not say what kind they are. */
function asJson(object: KubeObject, { group, version, kind }: Resource): JsonObject {
  return { ...object, apiVersion: group === '' ? version : `${group}/${version}`, kind } as unknown as JsonObject
}

function grouped(targets: readonly HealthTarget[]): Map<string, HealthTarget[]> {
  const groups = new Map<string, HealthTarget[]>()
  for (const target of targets) {
    const here = groups.get(viewId(target))
    if (here) here.push(target)
    else groups.set(viewId(target), [target])
  }
  return groups
}

const viewId = ({ resource, key }: HealthTarget): string =>
  `${resource.group}/${resource.version}/${resource.plural} ${key.namespace}`

const havingPods: ReadonlySet<string> = new Set([
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'ReplicaSet',
  'ReplicationController',
  'Job',
  'PersistentVolumeClaim',
])
