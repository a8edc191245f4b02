import { type Clock, systemClock } from '../../time/index.ts'
import type { ClusterConfig } from '../config/config.ts'
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  Patch,
  RawRequest,
  WatchOptions,
  WriteOptions,
} from '../door.ts'
import { ApiError } from '../errors.ts'
import type { KubeObject, ObjectRef, Resource } from '../resource.ts'
import { pods } from '../resources.ts'
import { writeBodies } from './bodies.ts'
import { listPages, openWatch } from './collection.ts'
import { CounterBook, type RequestCounters, type RequestObserver } from './counters.ts'
import { objectPath, pathOf } from './paths.ts'
import { type Call, type Guard, Requester } from './requester.ts'
import { Transport } from './transport.ts'

export interface ClientOptions {
  /** Which program speaks: `controller`, `agent`, `cli`. Becomes part of the User-Agent. */
  readonly component: string
  /** Of the program. Default `dev`. */
  readonly version?: string
  /** Refuses requests before anything is sent. */
  readonly guard?: Guard
  readonly observer?: RequestObserver
  /**
   * A server that was there and is away is waited for until the deadline of each call. Without, a call fails after a
   * second, which is right for whoever comes back to it anyway.
   */
  readonly isPatient?: boolean
  readonly clock?: Clock
  /** For jitter; 0 ≤ x < 1. */
  readonly random?: () => number
}

/** A KubeClient over real sockets. */
export interface ConnectedClient extends KubeClient {
  readonly config: ClusterConfig
  counters(): RequestCounters
}

type CallersParts = 'signal' | 'deadlineMs' | 'mostBytes' | 'beforeAttempt'

// No single object comes near.
const objectBytes = 32 * 1024 * 1024
const callDeadlineMs = 30_000

export function connect(config: ClusterConfig, options: ClientOptions): ConnectedClient {
  const clock = options.clock ?? systemClock
  const counters = new CounterBook(options.observer)
  const requester = new Requester({
    config,
    transport: new Transport(config.server, config.tls),
    counters,
    clock,
    random: options.random ?? Math.random,
    guard: options.guard,
    isPatient: options.isPatient,
    userAgent: `fettle/${options.version ?? 'dev'} (${options.component})`,
  })

  const call = async <T>(options: CallOptions, parts: Omit<Call, CallersParts>): Promise<T> =>
    (await requester.call({
      ...parts,
      signal: options.signal,
      beforeAttempt: options.beforeAttempt,
      deadlineMs: options.deadlineMs ?? callDeadlineMs,
      mostBytes: objectBytes,
    })) as T

  const write = <T extends KubeObject>(
    options: WriteOptions,
    parts: Omit<Call, CallersParts | 'isRepeatable'> & { readonly isRepeatable?: boolean },
  ): Promise<T> =>
    call<T>(options, {
      isRepeatable: options.dryRun === true,
      ...(options.answer === 'metadata' ? { accept: metadataOnly } : {}),
      ...parts,
      query: { ...parts.query, fieldManager: options.fieldManager, dryRun: options.dryRun ? 'All' : undefined },
    })

  return {
    config,
    counters: () => counters.snapshot(),
    close: () => requester.close(),

    get: async <T extends KubeObject>(resource: Resource, ref: ObjectRef, options: CallOptions = {}) =>
      call<T>(options, {
        method: 'GET',
        path: objectPath(resource, { ...ref, subresource: options.subresource }),
        isRepeatable: true,
      }),

    list: <T extends KubeObject>(resource: Resource, options: ListOptions = {}) =>
      listPages<T>(requester, resource, options),

    create: async <T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}) => {
      const { name, namespace } = object.metadata
      const { subresource } = options
      if (resource.namespaced && !namespace) {
        throw new ApiError({
          code: 'BadCall',
          method: 'POST',
          path: resource.plural,
          seen: 'the object has no namespace',
        })
      }
      const path = subresource
        ? objectPath(resource, { name, namespace, subresource })
        : pathOf(resource, { namespace })
      return write<T>(options, { method: 'POST', path, body: writeBodies.whole(resource, object, subresource) })
    },

    replace: async <T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}) =>
      write<T>(options, {
        method: 'PUT',
        path: objectPath(resource, { ...object.metadata, subresource: options.subresource }),
        body: writeBodies.whole(resource, object, options.subresource),
      }),

    patch: async <T extends KubeObject>(resource: Resource, ref: ObjectRef, patch: Patch, options: WriteOptions = {}) =>
      write<T>(options, {
        method: 'PATCH',
        path: objectPath(resource, { ...ref, subresource: options.subresource }),
        body: patch.body,
        contentType: patchTypes[patch.type],
      }),

    apply: async <T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions) =>
      write<T>(options, {
        method: 'PATCH',
        path: objectPath(resource, { ...object.metadata, subresource: options.subresource }),
        query: { force: options.force === true ? true : undefined, fieldValidation: options.fieldValidation },
        body: writeBodies.whole(resource, object, options.subresource),
        contentType: 'application/apply-patch+yaml',
        // Applying the same configuration twice is the same as once, unless it insists on a version.
        isRepeatable: object.metadata.resourceVersion === undefined,
      }),

    delete: async (resource: Resource, ref: ObjectRef, options: DeleteOptions) => {
      await call<unknown>(options, {
        method: 'DELETE',
        path: objectPath(resource, { ...ref, subresource: options.subresource }),
        body: writeBodies.delete(options),
        // With a UID, the second of two deletes can only hit the same object, or nothing.
        isRepeatable: options.uid !== 'any',
      })
    },

    evict: async (pod: ObjectRef, options: DeleteOptions) => {
      await call<unknown>(options, {
        method: 'POST',
        path: objectPath(pods, { ...pod, subresource: 'eviction' }),
        body: writeBodies.eviction(pod, options),
        isRepeatable: options.dryRun === true,
        isEviction: true,
      })
    },

    watch: <T extends KubeObject>(resource: Resource, options: WatchOptions) =>
      openWatch<T>(requester, counters, clock, resource, options),

    request: async <T>(options: RawRequest) =>
      call<T>(options, {
        method: options.method,
        path: options.path,
        ...(options.query ? { query: options.query } : {}),
        ...(options.body === undefined ? {} : { body: options.body }),
        ...(options.contentType === undefined ? {} : { contentType: options.contentType }),
        ...(options.accept === undefined ? {} : { accept: options.accept }),
        isRepeatable: options.method === 'GET',
        isEviction: options.method === 'POST' && options.path.endsWith('/eviction'),
      }),
  }
}

const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const satisfies Record<Patch['type'], string>
