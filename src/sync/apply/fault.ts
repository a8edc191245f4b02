import { ApiError, type KubeErrorCode, type StatusCause } from '../../kube/index.ts'
import { type DeclaredObject, provenanceText } from '../declared.ts'
import { keyText } from '../key.ts'
import { readableServerText } from './field-path.ts'
import { holdsSecrets, shownText } from './redact.ts'

export type ApplyFaultCode =
  /** Another manager holds a field, and nobody said whose it is. */
  | 'Conflict'
  /** It changed while we looked. */
  | 'Stale'
  | 'Immutable'
  | 'Invalid'
  | 'Unknown field'
  | 'Wrong type'
  | 'Duplicate key'
  /** A right is missing, an admission rule said no, or the kind or namespace is not there. */
  | 'Refused'
  /** What had to go first is still there. */
  | 'Not gone'
  /** No answer, or one that says: later. */
  | 'Unavailable'

export interface ApplyFaultFields {
  readonly code: ApplyFaultCode
  readonly isPermanent: boolean
  /** A sentence without the name of the object. */
  readonly what: string
  readonly fields?: readonly string[]
  readonly kubeCode?: KubeErrorCode | undefined
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** An object could not be applied. No text of it holds a value of a Secret. */
export class ApplyFault extends Error {
  override readonly name = 'ApplyFault'
  readonly code: ApplyFaultCode
  /** Trying again is in vain until git, or a person, says something else. */
  readonly isPermanent: boolean
  /** Which fields are at fault, as far as it is known. */
  readonly fields: readonly string[]
  /** What is wrong, without the name of the object. */
  readonly what: string
  readonly kubeCode: KubeErrorCode | undefined
  readonly retryAfterMs: number | undefined

  constructor({ key, from }: Pick<DeclaredObject, 'key' | 'from'>, fields: ApplyFaultFields) {
    super(`${keyText(key)} (${provenanceText(from)}): ${fields.what}`)
    // The cause of a fault is printed with it.
    if (fields.cause !== undefined && !holdsSecrets(key)) this.cause = fields.cause
    this.code = fields.code
    this.isPermanent = fields.isPermanent
    this.fields = fields.fields ?? []
    this.what = fields.what
    this.kubeCode = fields.kubeCode
    this.retryAfterMs = fields.retryAfterMs
  }
}

/** What a failed request means for the object. What did not come from the server, such as an abort, stays what it is. */
export function faultOf(error: unknown, declared: Pick<DeclaredObject, 'key' | 'from'>): unknown {
  if (!(error instanceof ApiError)) return error
  const fields = schemaFault(error, declared) ?? invalidFault(error, declared) ?? otherFault(error, declared)
  const { code: kubeCode, retryAfterMs } = error
  return new ApplyFault(declared, { ...fields, kubeCode, retryAfterMs, cause: error })
}

export function isFieldConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'Conflict' && conflictCauses(error).length > 0
}

export function conflictCauses(error: ApiError): readonly StatusCause[] {
  return (error.details?.causes ?? []).filter(({ reason }) => reason === 'FieldManagerConflict')
}

/** Fields of other managers, written in a version whose schema is gone, are in the way. */
export function isOfOldVersion(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== 'Server') return false
  return /field not declared in schema|no corresponding type/.test(error.seen) && !/typed patch object/.test(error.seen)
}

const path = String.raw`((?:\.[^\s:[\]]+|\[[^\]]*\])+)`
const schemaTexts = [
  { code: 'Unknown field', text: new RegExp(`${path}: field not declared in schema`, 'g'), what: 'is not a field' },
  { code: 'Duplicate key', text: new RegExp(`${path}: duplicate entries for key`, 'g'), what: 'has an item twice' },
  {
    code: 'Wrong type',
    text: new RegExp(`${path}: (?:expected|unable to|cannot|invalid)`, 'g'),
    what: 'has the wrong type',
  },
  { code: 'Unknown field', text: /unknown field "([^"]+)"/g, what: 'is not a field' },
  { code: 'Duplicate key', text: /duplicate field "([^"]+)"/g, what: 'stands there twice' },
] as const

/** The server answers such errors with 500, as if it were its own fault. The next try would end the same way. */
function schemaFault(error: ApiError, { key }: Pick<DeclaredObject, 'key'>): ApplyFaultFields | undefined {
  if (/illegal base64 data/.test(error.seen)) {
    return { code: 'Invalid', isPermanent: true, what: 'a value in it is not base64, as values under data have to be' }
  }
  const isTyped = /typed patch object|strict decoding error|error decoding from json|cannot unmarshal/.test(error.seen)
  if (!isTyped || (error.code !== 'Server' && error.code !== 'BadRequest' && error.code !== 'Invalid')) return undefined
  for (const { code, text, what } of schemaTexts) {
    const fields = [...new Set([...error.seen.matchAll(text)].map(([, field = '']) => readableServerText(field)))]
    if (fields.length === 0) continue
    const hint = holdsSecrets(key) ? '' : ` (${shownText(key, error.seen)})`
    return { code, isPermanent: true, fields, what: `${fields.join(', ')} ${what} of ${key.kind}${hint}` }
  }
  return { code: 'Invalid', isPermanent: true, what: shownText(key, error.seen) }
}

const immutable =
  /immutable|may not (?:be )?change|cannot (?:be )?change|updates to .* forbidden|updates to statefulset spec|may not be updated|is not allowed to be changed/i

function invalidFault(error: ApiError, { key }: Pick<DeclaredObject, 'key'>): ApplyFaultFields | undefined {
  if (error.code !== 'Invalid') return undefined
  const causes = error.details?.causes ?? []
  const fields = [...new Set(causes.map(({ field = '' }) => field).filter((field) => field !== ''))]
  if (causes.some(({ field }) => field === 'metadata.uid')) {
    return { code: 'Stale', isPermanent: false, what: 'another object has its name by now; look again' }
  }
  // Only if nothing else is wrong: a new object would be refused too, and then the old one would be gone.
  if (causes.length > 0 && causes.every(({ message = '' }) => immutable.test(message))) {
    const what = `${fields.join(', ')} cannot be changed once it is made; annotate it with fettle.dev/replace: auto to have it deleted and made anew`
    return { code: 'Immutable', isPermanent: true, fields, what }
  }
  const where = fields.length === 0 ? 'it is invalid' : `${fields.join(', ')} is invalid`
  return { code: 'Invalid', isPermanent: true, fields, what: `${where}: ${shownText(key, error.seen)}` }
}

function otherFault(error: ApiError, { key }: Pick<DeclaredObject, 'key'>): ApplyFaultFields {
  const { code, kind, seen } = error
  const what = `${code}: ${shownText(key, seen)}`
  const causes = conflictCauses(error)
  if (code === 'Conflict' && causes.length > 0) {
    const fields = causes.map(({ field = '' }) => readableServerText(field))
    return { code: 'Conflict', isPermanent: true, fields, what: conflictText(causes) }
  }
  if (code === 'Conflict') return { code: 'Stale', isPermanent: false, what }
  const isPermanent = code === 'BadRequest' || code === 'TooLarge'
  return { code: kind === 'retryable' ? 'Unavailable' : isPermanent ? 'Invalid' : 'Refused', isPermanent, what }
}

/** Names fields and managers; never what is in them. */
export function conflictText(causes: readonly StatusCause[]): string {
  const parts = causes.map(({ field = '', message = '' }) => {
    const holder = /conflict with ("[^"]*"(?: with subresource "[^"]*")?)/.exec(message)?.[1] ?? 'somebody else'
    return `${readableServerText(field)} is held by ${holder}`
  })
  return `${[...new Set(parts)].join('; ')}. Annotate it with fettle.dev/apply: override or merge, list the field in fettle.dev/ignore-fields, or name the manager in adoptFrom`
}
