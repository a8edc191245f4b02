import type { Json, JsonObject } from '../json.ts'
import { listAt, numberAt, textAt, timeAt } from './fields.ts'

export interface Condition {
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly sinceMs?: number
}

/** A condition of an object; one that speaks of an earlier generation says nothing about this one. */
export function conditionOf(
  object: JsonObject,
  type: string,
  among: readonly Json[] = listAt(object, 'status', 'conditions'),
): Condition | undefined {
  const found = among.find((one) => textAt(one, 'type') === type)
  const status = textAt(found, 'status')
  if (status === undefined) return undefined
  const observed = numberAt(found, 'observedGeneration')
  if (observed !== undefined && observed < (numberAt(object, 'metadata', 'generation') ?? 0)) return undefined
  const [reason, message] = [textAt(found, 'reason'), textAt(found, 'message')]
  const sinceMs = timeAt(found, 'lastTransitionTime')
  return {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
  }
}

/** `QuotaExceeded: only 3 pods are allowed`, or what of it there is. */
export function conditionText(type: string, { status, reason, message }: Condition): string {
  const what = [reason, message].filter((part) => part !== undefined).join(': ')
  return what === '' ? `${type} is ${status}` : `${type} is ${status}: ${what}`
}
