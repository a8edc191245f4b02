import type { KubeObject, ObjectRef, Resource } from './resource.ts'

/** The door to one cluster, as one identity. Everything that talks to Kubernetes takes this. */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef, options?: CallOptions): Promise<T>
  /** Pages through the collection; each page is at most `pageSize` (500) objects. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): AsyncIterable<ListPage<T>>
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>
  /** PUT: fails with Conflict unless metadata.resourceVersion is current. */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>
  patch<T extends KubeObject>(resource: Resource, ref: ObjectRef, patch: Patch, options?: WriteOptions): Promise<T>
  /** Server-side apply. `object` needs name (and namespace) in its metadata; apiVersion and kind are filled in. */
  apply<T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions): Promise<T>
  /** Deletes are always guarded by UID unless `uid: 'any'` is said. Resolves even if finalizers keep the object. */
  delete(resource: Resource, ref: ObjectRef, options: DeleteOptions): Promise<void>
  /** POST pods/eviction with a UID precondition. */
  evict(pod: ObjectRef, options: DeleteOptions): Promise<void>
  /** One watch request, until the server ends it or an error is thrown; an abort throws the signal's reason. Never retries. */
  watch<T extends KubeObject>(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent<T>>
  /** A raw request for whatever has no verb here: discovery, version, logs. Body and result are JSON; a text answer is a string. */
  request<T>(options: RawRequest): Promise<T>
  /** Releases sockets and timers. Calls after it fail. */
  close(): void
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** For the whole call with all its retries. Default 30 s; for a list 60 s, per page. */
  readonly deadlineMs?: number
  /** Called right before each attempt is sent, the first and every repetition. What it throws ends the call. */
  readonly beforeAttempt?: () => void
  readonly subresource?: string
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string
  readonly dryRun?: boolean
  /** Nobody reads more of the answer than its metadata. Of a node with many images that is a tenth. Default the whole object. */
  readonly answer?: 'metadata'
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** Take fields over from other managers. Default false: a conflict is thrown. */
  readonly force?: boolean
  /** Refuse fields that the schema does not know, instead of dropping them. */
  readonly fieldValidation?: 'Strict'
}

export interface DeleteOptions extends CallOptions {
  /** The UID that the object must still have, or `any`. */
  readonly uid: string
  readonly resourceVersion?: string
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  readonly dryRun?: boolean
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly pageSize?: number
  /** '0' reads from the API server's cache, '' (default) asks for the newest. */
  readonly resourceVersion?: string
  /** Nobody reads more of the objects than their metadata. Default the whole objects. */
  readonly answer?: 'metadata'
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
  readonly remaining?: number
}

export type Patch =
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'json'; readonly body: readonly JsonPatchStep[] }

export type JsonPatchStep =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export interface WatchOptions {
  readonly signal: AbortSignal
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly resourceVersion?: string
  /** Ask the server to stream the present state first, then a bookmark, then changes. */
  readonly sendInitialEvents?: boolean
  readonly timeoutSeconds?: number
  /** No byte for this long means that the connection is dead. Default 150 s: two bookmarks must be missing. */
  readonly inactivityMs?: number
  /** Called once, when the server has accepted the watch. */
  readonly onOpen?: () => void
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }

export interface RawRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute path, without query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  /** The form of the answer, as an Accept header: JSON, or `application/yaml`, which comes as text with exact numbers. */
  readonly accept?: string
}
