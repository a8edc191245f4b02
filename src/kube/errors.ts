/** What a caller may do about a failure: try again, give up, or ask the person who wrote the input. */
export type FailureKind = 'retryable' | 'terminal' | 'refused'

interface CodeRow {
  readonly kind: FailureKind
  readonly meaning: string
  readonly nextStep: string
}

/** Every code that this room can throw. The reference page of errors is generated from this table. */
export const kubeErrorCodes = {
  BadRequest: {
    kind: 'terminal',
    meaning: 'The API server could not make sense of the request.',
    nextStep: 'Read the message; the request itself has to change.',
  },
  Unauthorized: {
    kind: 'terminal',
    meaning: 'The API server does not accept the credentials, even after they were read again.',
    nextStep: 'Renew the token or certificate of the context in use.',
  },
  Forbidden: {
    kind: 'terminal',
    meaning: 'The identity is known but has no permission for this request.',
    nextStep: 'Grant the verb on the resource in a Role or ClusterRole, or use another identity.',
  },
  NotFound: {
    kind: 'terminal',
    meaning: 'The object, or the whole resource, does not exist.',
    nextStep: 'Check name and namespace; for a whole resource, check that its CRD is installed.',
  },
  AlreadyExists: {
    kind: 'terminal',
    meaning: 'An object with this name exists already.',
    nextStep: 'Read the existing object and decide whether it is ours.',
  },
  Conflict: {
    kind: 'retryable',
    meaning: 'The object changed since it was read, a precondition failed, or another field manager owns a field.',
    nextStep: 'Read the object again and decide again.',
  },
  Gone: {
    kind: 'retryable',
    meaning: 'The position in the history of changes (resourceVersion or continue token) is no longer kept.',
    nextStep: 'List again from the beginning; caches do this by themselves.',
  },
  Invalid: {
    kind: 'terminal',
    meaning: 'The object breaks a rule of its schema or an admission policy.',
    nextStep: 'Correct the fields that the message names.',
  },
  NotSupported: {
    kind: 'terminal',
    meaning: 'The API server does not know this method or content type here.',
    nextStep: 'Check the version of the API server against the versions that are supported.',
  },
  TooLarge: {
    kind: 'terminal',
    meaning: 'The request or the answer is larger than the limit.',
    nextStep: 'Ask for less at once, or shrink the object.',
  },
  TooManyRequests: {
    kind: 'retryable',
    meaning: 'The API server is shedding load and asks to come back later.',
    nextStep: 'Wait as long as it asks; if it lasts, look at API Priority and Fairness.',
  },
  EvictionBlocked: {
    kind: 'retryable',
    meaning: 'The pod may not be evicted now: a PodDisruptionBudget has nothing left to give.',
    nextStep: 'Wait until more replicas are ready, or look at the budget that the message names.',
  },
  Timeout: {
    kind: 'retryable',
    meaning: 'No answer came before the deadline of the call; nothing was changed by it.',
    nextStep: 'Try again; if it lasts, check load and network of the API server.',
  },
  ServerTimeout: {
    kind: 'retryable',
    meaning: 'The API server gave up waiting for something behind it.',
    nextStep: 'Try again later; if it lasts, check etcd and the admission webhooks.',
  },
  UnknownOutcome: {
    kind: 'retryable',
    meaning: 'A write was sent but no answer came: it may or may not have happened.',
    nextStep: 'Read the object before writing again.',
  },
  Unavailable: {
    kind: 'retryable',
    meaning: 'The API server, or the aggregated API behind it, is not ready to answer.',
    nextStep: 'Try again later; if it lasts, look at /readyz and at the APIServices.',
  },
  Server: {
    kind: 'retryable',
    meaning: 'The API server met an internal error.',
    nextStep: 'Try again later; the cause is in the log of the API server.',
  },
  Unreachable: {
    kind: 'retryable',
    meaning: 'No connection to the API server could be made or kept.',
    nextStep: 'Check that the server runs, the address in the configuration, and the network between.',
  },
  Untrusted: {
    kind: 'terminal',
    meaning: 'The certificate of the API server could not be verified.',
    nextStep: 'Check certificate-authority and tls-server-name of the cluster entry, and the clocks of both machines.',
  },
  Stalled: {
    kind: 'retryable',
    meaning: 'A watch got no byte for so long that its connection counts as dead.',
    nextStep: 'Watch again from the last position; caches do this by themselves.',
  },
  BadResponse: {
    kind: 'retryable',
    meaning: 'The answer is not what the Kubernetes API promises: broken JSON, a redirect, an unknown kind of event.',
    nextStep: 'Check whether the address really is a Kubernetes API server, and any proxy in between.',
  },
  GuardRefused: {
    kind: 'refused',
    meaning: 'The request was refused inside this process, before anything was sent.',
    nextStep: 'The rule that refused it is in the message.',
  },
  BadCall: {
    kind: 'terminal',
    meaning: 'The program asked for something that no URL can express, such as an object without a name.',
    nextStep: 'This is a bug; report it with the message.',
  },
  Closed: {
    kind: 'terminal',
    meaning: 'The client was closed before the call, or while it was under way.',
    nextStep: 'Nothing, if the program is stopping; otherwise this is a bug.',
  },
  NotLeader: {
    kind: 'retryable',
    meaning: 'A write that only a leader may make came after the term of leadership had ended.',
    nextStep: 'Nothing; the work starts again in the next term, here or in another replica.',
  },
  NoConfig: {
    kind: 'refused',
    meaning: 'No cluster is configured: no kubeconfig was found and the program does not run inside a pod.',
    nextStep: 'Set KUBECONFIG, write ~/.kube/config, or name a file.',
  },
  BadConfig: {
    kind: 'refused',
    meaning: 'A kubeconfig cannot be read or says something impossible.',
    nextStep: 'Correct the file at the line given.',
  },
  UnsupportedConfig: {
    kind: 'refused',
    meaning: 'The kubeconfig asks for something that is deliberately not supported.',
    nextStep: 'Use the alternative that the message names.',
  },
  ExecPluginFailed: {
    kind: 'retryable',
    meaning: 'The credential plugin of the kubeconfig failed, was not found, or took too long.',
    nextStep: 'Run the command by hand and follow its message.',
  },
  CredentialUnreadable: {
    kind: 'retryable',
    meaning: 'A token, key or certificate file cannot be read.',
    nextStep: 'Check the path and its permissions.',
  },
} as const satisfies Record<string, CodeRow>

export type KubeErrorCode = keyof typeof kubeErrorCodes

/** One cause inside an API server's refusal: which field, or which budget. */
export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export interface ApiErrorFields {
  readonly code: KubeErrorCode
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** What was seen: the server's own words, or the system error. */
  readonly seen: string
  readonly status?: number | undefined
  readonly reason?: string | undefined
  readonly details?: StatusDetails | undefined
  readonly retryAfterMs?: number | undefined
  readonly attempts?: number
  readonly cause?: unknown
}

/** A request to Kubernetes failed. `code` says how; the table above says what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: KubeErrorCode
  readonly kind: FailureKind
  readonly method: string
  readonly path: string
  readonly seen: string
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly details: StatusDetails | undefined
  readonly retryAfterMs: number | undefined
  readonly attempts: number

  constructor(fields: ApiErrorFields) {
    const attempts = fields.attempts ?? 1
    const row = kubeErrorCodes[fields.code]
    const tries = attempts > 1 ? ` after ${attempts} attempts` : ''
    const status = fields.status === undefined ? '' : ` (${fields.status})`
    super(
      `${fields.method} ${fields.path} failed${tries}: ${fields.code}${status}: ${sentence(fields.seen)} ${row.nextStep}`,
    )
    if (fields.cause !== undefined) this.cause = fields.cause
    this.code = fields.code
    this.kind = row.kind
    this.method = fields.method
    this.path = fields.path
    this.seen = fields.seen
    this.status = fields.status
    this.reason = fields.reason
    this.details = fields.details
    this.retryAfterMs = fields.retryAfterMs
    this.attempts = attempts
  }
}

/** The configuration of the connection is at fault, not a request. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code: KubeErrorCode
  readonly kind: FailureKind
  readonly file: string | undefined
  readonly line: number | undefined

  constructor(
    code: 'NoConfig' | 'BadConfig' | 'UnsupportedConfig' | 'ExecPluginFailed' | 'CredentialUnreadable',
    message: string,
    at: { readonly file?: string; readonly line?: number; readonly cause?: unknown } = {},
  ) {
    const place = at.file === undefined ? '' : at.line === undefined ? `${at.file}: ` : `${at.file}:${at.line}: `
    super(`${place}${sentence(message)}`)
    if (at.cause !== undefined) this.cause = at.cause
    this.code = code
    this.kind = kubeErrorCodes[code].kind
    this.file = at.file
    this.line = at.line
  }
}

/** Whether `error` comes from this room with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly KubeErrorCode[]): error is ApiError | ConfigError {
  return (error instanceof ApiError || error instanceof ConfigError) && codes.includes(error.code)
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 'NotFound')
export const isConflict = (error: unknown): boolean => hasCode(error, 'Conflict')
export const isAlreadyExists = (error: unknown): boolean => hasCode(error, 'AlreadyExists')
export const isGone = (error: unknown): boolean => hasCode(error, 'Gone')
export const isForbidden = (error: unknown): boolean => hasCode(error, 'Forbidden')
export const isEvictionBlocked = (error: unknown): boolean => hasCode(error, 'EvictionBlocked')
export const isUnknownOutcome = (error: unknown): boolean => hasCode(error, 'UnknownOutcome')

/** Whether the same intent may succeed later. After UnknownOutcome, read before writing. */
export function isRetryable(error: unknown): boolean {
  return (error instanceof ApiError || error instanceof ConfigError) && error.kind === 'retryable'
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}
