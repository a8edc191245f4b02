import type { Clock } from '../../time/index.ts'
import { readWatch } from '../cache/watch-stream.ts'
import type { ListOptions, ListPage, WatchEvent, WatchOptions } from '../door.ts'
import { ApiError } from '../errors.ts'
import type { KubeObject, Resource } from '../resource.ts'
import type { CounterBook } from './counters.ts'
import { pathOf } from './paths.ts'
import type { Requester } from './requester.ts'
import { isRecord } from './status.ts'

// 500 objects of half a megabyte each.
const pageBytes = 256 * 1024 * 1024
const pageDeadlineMs = 60_000
// The server sends a bookmark every 60 to 75 s: two of them must be missing.
const defaultInactivityMs = 150_000

const metadataLists = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

/** Pages through a collection. */
export async function* listPages<T extends KubeObject>(
  requester: Requester,
  resource: Resource,
  options: ListOptions,
): AsyncGenerator<ListPage<T>> {
  const path = pathOf(resource, { namespace: options.namespace })
  let token: string | undefined
  do {
    const answer = await requester.call({
      method: 'GET',
      path,
      query: {
        limit: options.pageSize ?? 500,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        // A continue token carries its own version; sending both is refused.
        resourceVersion: token === undefined ? options.resourceVersion : undefined,
        continue: token,
      },
      ...(options.answer === 'metadata' ? { accept: metadataLists } : {}),
      beforeAttempt: options.beforeAttempt,
      signal: options.signal,
      deadlineMs: options.deadlineMs ?? pageDeadlineMs,
      mostBytes: pageBytes,
      isRepeatable: true,
    })
    const page = readPage<T>(answer, path)
    token = page.token
    yield page
  } while (token !== undefined)
}

function readPage<T>(answer: unknown, path: string): ListPage<T> & { readonly token?: string } {
  const meta = isRecord(answer) ? answer['metadata'] : undefined
  if (!isRecord(answer) || !isRecord(meta) || typeof meta['resourceVersion'] !== 'string') {
    throw new ApiError({ code: 'BadResponse', method: 'GET', path, seen: 'the answer is not a list' })
  }
  const { continue: token, remainingItemCount, resourceVersion } = meta
  return {
    // A Go nil slice arrives as null.
    items: Array.isArray(answer['items']) ? (answer['items'] as T[]) : [],
    resourceVersion,
    ...(typeof remainingItemCount === 'number' ? { remaining: remainingItemCount } : {}),
    ...(typeof token === 'string' && token !== '' ? { token } : {}),
  }
}

/** One watch request, from asking to its last event. */
export async function* openWatch<T extends KubeObject>(
  requester: Requester,
  counters: CounterBook,
  clock: Clock,
  resource: Resource,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const path = pathOf(resource, { namespace: options.namespace })
  const inactivityMs = options.inactivityMs ?? defaultInactivityMs
  const answer = await requester.openWithin(
    inactivityMs,
    {
      method: 'GET',
      path,
      query: {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: options.resourceVersion,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        timeoutSeconds: options.timeoutSeconds,
        ...(options.sendInitialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
      },
    },
    options.signal,
  )
  options.onOpen?.()
  yield* readWatch<T>({
    answer,
    path,
    clock,
    inactivityMs,
    signal: options.signal,
    onBytes: (count) => counters.noteBytes(count),
  })
}
