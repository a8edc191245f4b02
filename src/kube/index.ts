export { type CacheOptions, type CacheStats, ResourceCache } from './cache.ts'
export { type ClientOptions, type ConnectedClient, connect } from './client.ts'
export type { ClusterConfig, Credential, Credentials, Impersonation, TextSource, TlsSettings } from './config.ts'
export type { RequestCounters, RequestObserver, RequestSample } from './counters.ts'
export { anonymous, fixedCredential } from './credentials.ts'
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  JsonPatchStep,
  KubeClient,
  ListOptions,
  ListPage,
  Patch,
  RawRequest,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './door.ts'
export {
  ApiError,
  ConfigError,
  type FailureKind,
  hasCode,
  isAlreadyExists,
  isConflict,
  isEvictionBlocked,
  isForbidden,
  isGone,
  isNotFound,
  isRetryable,
  isUnknownOutcome,
  type KubeErrorCode,
  kubeErrorCodes,
  type StatusCause,
  type StatusDetails,
} from './errors.ts'
export type { EventNote, EventReporter, EventSubject } from './event-record.ts'
export { EventRecorder, type EventRecorderOptions, type EventRecorderStats } from './events.ts'
export { fencedClient } from './fenced-client.ts'
export { type InClusterOptions, loadInCluster } from './in-cluster.ts'
export {
  controllerUid,
  type LabelSelector,
  type Lease,
  type NodeCondition,
  type NodeInfo,
  type NodeObject,
  type PodCondition,
  type PodDisruptionBudget,
  type PodObject,
  type PodVolume,
  type Taint,
} from './kinds.ts'
export { type KubeconfigOptions, loadKubeconfig } from './kubeconfig.ts'
export { type LeaderTerm, NotLeaderError } from './leader-term.ts'
export { type LeaderEvent, type LeaderOptions, type LeaseTimes, runAsLeader } from './lease.ts'
export { loadConfig } from './load-config.ts'
export type { ListWatch, ReflectorStats, ReflectorTimes, Selection } from './reflector-options.ts'
export type { Guard } from './requester.ts'
export type { KubeObject, ObjectMeta, ObjectRef, OwnerReference, Resource } from './resource.ts'
export * as resources from './resources.ts'
export { Secret } from './secret.ts'
export { type CacheRequest, SharedCaches, type SharedCachesOptions, selectionKey } from './shared-caches.ts'
export { type CacheEvent, type IndexKeys, keyOf } from './store.ts'
export type { CacheHandler } from './subscriber.ts'
export { nodeTrimmer, podTrimmer, type Trim, trimAny } from './trim.ts'
export { type GoneResult, type WaitOptions, type WaitResult, waitFor, waitUntilGone } from './wait.ts'
export {
  type AddOptions,
  type DrainResult,
  type LookAgain,
  type WorkContext,
  type WorkFailure,
  type WorkHandler,
  WorkQueue,
  type WorkQueueMetrics,
  type WorkQueueOptions,
} from './work-queue.ts'
export { TerminalError } from './work-retry.ts'
