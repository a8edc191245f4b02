import { isNotFound, isRetryable, type KubeClient, type KubeObject, type Resource } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'

type Reader = Pick<KubeClient, 'list' | 'watch'>

export interface GoneTarget {
  readonly uid: string
  readonly name: string
}

export interface GoneWatchOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onGone: (uid: string) => void
  /** It is still there, and changed: somebody took a finalizer away, for one. */
  readonly onSeen: (uid: string, object: KubeObject) => void
}

export interface GoneWatch {
  /** Resolves when no deletion can be missed any more; rejects when the collection cannot be read. */
  readonly opened: Promise<void>
}

const [firstPauseMs, longestPauseMs] = [200, 5_000]
const watchSeconds = 300
// For what cannot be watched.
const pollMs = 1_000

/**
 * Watches one collection until each target is gone. Another object under the name means that the target is gone too.
 * Begins at the present version without reading the collection: what is deleted after that cannot be missed.
 */
export function watchGone(
  client: Reader,
  resource: Resource,
  namespace: string,
  targets: readonly GoneTarget[],
  options: GoneWatchOptions,
): GoneWatch {
  const opened = new Promise<void>((resolve, reject) => {
    follow(client, resource, namespace, targets, options, resolve).catch(reject)
  })
  // Whoever awaits it hears of a failure; if nobody does any more, it must not end the process.
  opened.catch(() => undefined)
  return { opened }
}

async function follow(
  client: Reader,
  resource: Resource,
  namespace: string,
  targets: readonly GoneTarget[],
  { clock, signal, onGone, onSeen }: GoneWatchOptions,
  onOpen: () => void,
): Promise<void> {
  const [only, second] = targets
  const selection = {
    ...(namespace === '' ? {} : { namespace }),
    ...(only && !second ? { fieldSelector: `metadata.name=${only.name}` } : {}),
    signal,
  }
  const present = new Map(targets.map(({ uid, name }) => [uid, name]))
  const byName = new Map(targets.map(({ uid, name }) => [name, uid]))
  const leave = (uid: string) => {
    if (present.delete(uid)) onGone(uid)
  }
  const see = (object: KubeObject) => {
    const { uid = '', name = '' } = object.metadata
    const expected = byName.get(name)
    if (expected === undefined) return
    if (expected === uid) onSeen(uid, object)
    else leave(expected)
  }

  /** Where a watch may begin. */
  const currentVersion = async (): Promise<string> => {
    for await (const page of client.list(resource, { ...selection, pageSize: 1 })) return page.resourceVersion
    return ''
  }

  /** After a gap: whoever is not in the list went in it. */
  const readAgain = async (): Promise<string> => {
    const seen = new Set<string>()
    let version = ''
    for await (const page of client.list(resource, selection)) {
      version ||= page.resourceVersion
      for (const object of page.items) {
        seen.add(object.metadata.uid ?? '')
        see(object)
      }
    }
    for (const uid of [...present.keys()]) if (!seen.has(uid)) leave(uid)
    return version
  }

  let [isFirst, mayWatch, failures] = [true, true, 0]
  while (present.size > 0) {
    try {
      const resourceVersion = await (isFirst ? currentVersion() : readAgain())
      isFirst = false
      if (mayWatch) {
        const watch = client.watch(resource, { ...selection, resourceVersion, timeoutSeconds: watchSeconds, onOpen })
        for await (const event of watch) {
          failures = 0
          if (event.type === 'BOOKMARK') continue
          if (event.type === 'DELETED') leave(event.object.metadata.uid ?? '')
          else see(event.object)
          if (present.size === 0) return
        }
      } else onOpen()
    } catch (error) {
      signal.throwIfAborted()
      // The whole kind is gone, and so is each object of it.
      if (isNotFound(error)) for (const uid of [...present.keys()]) leave(uid)
      else if (!isRetryable(error)) {
        // Some kinds can be listed but not watched, and some identities may only list.
        if (isFirst || !mayWatch) throw error
        mayWatch = false
      }
    }
    if (present.size === 0) break
    const backoffMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures++, 10))
    await clock.sleep(mayWatch ? backoffMs : pollMs, signal)
  }
  onOpen()
}
