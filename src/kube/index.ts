export { type CacheOptions, type CacheStats, ResourceCache } from './cache/cache.ts'
export {
  type ListWatch,
  longSilenceMs,
  type ReflectorStats,
  type ReflectorTimes,
  type Selection,
} from './cache/reflector-options.ts'
export { isOlderVersion } from './cache/resource-version.ts'
export { type CacheRequest, SharedCaches, type SharedCachesOptions, selectionKey } from './cache/shared-caches.ts'
export { type CacheEvent, type IndexKeys, keyOf } from './cache/store.ts'
export type { CacheHandler } from './cache/subscriber.ts'
export { nodeTrimmer, podTrimmer, type Trim, trimAny } from './cache/trim.ts'
export type { ClusterConfig, Credential, Credentials, Impersonation, TextSource, TlsSettings } from './config/config.ts'
export { anonymous, fixedCredential } from './config/credentials.ts'
export { type InClusterOptions, loadInCluster, podNamespace } from './config/in-cluster.ts'
export { type KubeconfigOptions, loadKubeconfig } from './config/kubeconfig.ts'
export { loadConfig } from './config/load-config.ts'
export { Secret } from './config/secret.ts'
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
export type { EventNote, EventReporter, EventSubject } from './events/event-record.ts'
export { EventRecorder, type EventRecorderOptions, type EventRecorderStats } from './events/events.ts'
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
export { type LeaderTerm, NotLeaderError } from './lease/leader-term.ts'
export { type LeaderEvent, type LeaderOptions, type LeaseTimes, runAsLeader } from './lease/lease.ts'
export { LeaseWitness } from './lease/lease-witness.ts'
export { type ClientOptions, type ConnectedClient, connect } from './request/client.ts'
export type { RequestCounters, RequestObserver, RequestSample } from './request/counters.ts'
export { fencedClient } from './request/fenced-client.ts'
export type { Guard } from './request/requester.ts'
export type { KubeObject, ObjectMeta, ObjectRef, OwnerReference, Resource } from './resource.ts'
export * as resources from './resources.ts'
export { type ReadSecretKey, secretKeys } from './secret-keys.ts'
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
} from './work-queue/work-queue.ts'
export { TerminalError } from './work-queue/work-retry.ts'
