import type { Credential } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import type { HttpAnswer } from '../http/http-answer.ts'
import { readStatus, refusalFields } from './status.ts'
import type { ConnectionFault } from './transport.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly isEviction?: boolean
}

/** How far a call with its retries has come. */
export interface Progress {
  attempts: number
  /** Whether the running attempt may have reached the server. */
  wasSent: boolean
  hasRefreshed: boolean
  /** Which the running attempt was made with. */
  credential?: Credential
  lastError?: ApiError
}

const errorBodyBytes = 64 * 1024
// Certificate trouble does not pass by itself; trying again only hides the message.
const trustCodes =
  /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|ERR_SSL_WRONG_VERSION)/

export function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

/** The server said no. */
export async function refusalError(
  call: Asked,
  answer: HttpAnswer,
  attempts: number,
  nowMs: number,
): Promise<ApiError> {
  const body = await answer.whole(errorBodyBytes).catch(() => undefined)
  const fields = refusalFields(answer.status, readStatus(body?.toString('utf8') ?? ''), {
    isEviction: call.isEviction === true,
    retryAfter: answer.headers['retry-after'],
    nowMs,
  })
  return new ApiError({ ...fields, method: call.method, path: call.path, attempts })
}

/** The value of a successful answer; `body` is undefined when it was too large. */
export function parseAnswer(
  call: Asked & { readonly mostBytes: number },
  answer: HttpAnswer,
  body: Buffer | undefined,
  attempts: number,
): ApiError | { readonly value: unknown } {
  const { method, path } = call
  if (!body) {
    const seen = `the answer exceeds ${call.mostBytes} bytes`
    return new ApiError({ code: 'TooLarge', method, path, attempts, seen })
  }
  const type = answer.headers['content-type'] ?? ''
  if (/^(?:text\/|application\/yaml)/.test(type)) return { value: body.toString('utf8') }
  if (body.length === 0) return { value: undefined }
  try {
    return { value: JSON.parse(body.toString('utf8')) as unknown }
  } catch {
    // The parser's own message quotes the body, which may hold a Secret.
    const seen = `${body.length} bytes of "${type}" are not JSON`
    return new ApiError({ code: 'BadResponse', method, path, attempts, seen })
  }
}

/** No connection, or none that lasted. */
export function connectionError(call: Asked, fault: ConnectionFault, server: string, attempts: number): ApiError {
  return new ApiError({
    code: trustCodes.test(fault.systemCode ?? '') ? 'Untrusted' : 'Unreachable',
    method: call.method,
    path: call.path,
    seen: `${fault.message} at ${server}`,
    attempts,
    cause: fault,
  })
}

/** The same failure, understood better. */
export function recoded(error: ApiError, code: ApiError['code']): ApiError {
  const { method, path, seen, status, reason, details, retryAfterMs, attempts } = error
  return new ApiError({ code, method, path, seen, status, reason, details, retryAfterMs, attempts, cause: error })
}

/** The client was closed under the call. A write that may have arrived is then in doubt. */
export function closedError(call: Asked & { readonly isRepeatable: boolean }, progress?: Progress): ApiError {
  return new ApiError({
    code: progress?.wasSent && !call.isRepeatable ? 'UnknownOutcome' : 'Closed',
    method: call.method,
    path: call.path,
    seen: 'the client was closed during the call',
    attempts: Math.max(1, progress?.attempts ?? 1),
  })
}

/** The deadline passed. A write that may have arrived is then in doubt. */
export function timeoutError(
  call: Asked & { readonly deadlineMs: number; readonly isRepeatable: boolean },
  progress: Progress,
): ApiError {
  const before = progress.lastError ? `; before that: ${progress.lastError.seen}` : ''
  return new ApiError({
    code: progress.wasSent && !call.isRepeatable ? 'UnknownOutcome' : 'Timeout',
    method: call.method,
    path: call.path,
    seen: `no answer within ${call.deadlineMs} ms${before}`,
    attempts: Math.max(1, progress.attempts),
    cause: progress.lastError,
  })
}
