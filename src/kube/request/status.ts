import type { ApiErrorFields, KubeErrorCode, StatusDetails } from '../errors.ts'

/** The API server's way of saying no, as far as it could be read. */
export interface ServerStatus {
  readonly message: string
  readonly reason?: string
  readonly details?: StatusDetails
}

const longestPlainMessage = 300

/** Reads an error body, which is usually a Status object but may be a proxy's page. */
export function readStatus(body: string): ServerStatus {
  const parsed = parse(body)
  if (isRecord(parsed) && parsed['kind'] === 'Status') return statusOf(parsed)
  const text = body.replace(/\s+/g, ' ').trim()
  const message = text === '' ? 'the answer has no body' : text.slice(0, longestPlainMessage)
  return { message }
}

/** Reads a Status object, as it stands in an error body or in an ERROR event of a watch. */
export function statusOf(object: Readonly<Record<string, unknown>>): ServerStatus {
  const { message, reason, details } = object
  return {
    message: typeof message === 'string' && message !== '' ? message : 'the Status object has no message',
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(isRecord(details) ? { details: details as StatusDetails } : {}),
  }
}

/** What a refusal means; the status number alone does not say it. */
export function codeOf(status: number, answer: ServerStatus, isEviction = false): KubeErrorCode {
  switch (status) {
    case 400:
      return 'BadRequest'
    case 401:
      return 'Unauthorized'
    case 403:
      return 'Forbidden'
    case 404:
      return 'NotFound'
    case 405:
    case 406:
    case 415:
      return 'NotSupported'
    case 408:
    case 504:
      return 'ServerTimeout'
    case 409:
      return answer.reason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict'
    case 410:
      return 'Gone'
    case 413:
      return 'TooLarge'
    case 422:
      return 'Invalid'
    case 429:
      // Only a budget's refusal names its cause. Load shedding answers in plain text, but a storage that is not ready yet, a
      // proxy or a webhook answers with a Status object too, and says nothing about any budget.
      return isEviction && isByBudget(answer) ? 'EvictionBlocked' : 'TooManyRequests'
    case 503:
      return 'Unavailable'
    default:
      if (status < 400) return 'BadResponse'
      if (status < 500) return 'BadRequest'
      return answer.reason === 'ServerTimeout' || answer.reason === 'Timeout' ? 'ServerTimeout' : 'Server'
  }
}

function isByBudget({ details }: ServerStatus): boolean {
  return details?.causes?.some(({ reason }) => reason === 'DisruptionBudget') ?? false
}

/** The fields of an ApiError that come from the server's answer. */
export function refusalFields(
  status: number,
  answer: ServerStatus,
  options: { readonly isEviction?: boolean; readonly retryAfter?: string | undefined; readonly nowMs?: number } = {},
): Pick<ApiErrorFields, 'code' | 'status' | 'seen' | 'reason' | 'details' | 'retryAfterMs'> {
  const seconds = answer.details?.retryAfterSeconds
  const retryAfterMs =
    parseRetryAfter(options.retryAfter, options.nowMs ?? 0) ??
    (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined)
  const causes = (answer.details?.causes ?? []).map((cause) => cause.message ?? '').filter((text) => text !== '')
  const unsaid = causes.filter((text) => !answer.message.includes(text))
  return {
    code: codeOf(status, answer, options.isEviction),
    status,
    // A refused eviction names its budget only in the causes.
    seen: unsaid.length === 0 ? answer.message : `${answer.message} (${unsaid.join('; ')})`,
    reason: answer.reason,
    details: answer.details,
    retryAfterMs,
  }
}

/** Retry-After is seconds or an HTTP date. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value.trim() === '') return undefined
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
