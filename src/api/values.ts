import * as z from 'zod'
import type { Rule } from './kind.ts'

/** An RFC 3339 time, as Kubernetes writes it. */
export const time = z.iso.datetime({ offset: true })

export const uid = z.string().min(1).max(64)

/** Names of objects are DNS subdomains. */
export const objectName = z.string().min(1).max(253)

/** Such as 30m or 1h30m: the durations of the Gateway API (GEP-2257), which every Go program reads as well. */
export const duration = z
  .string()
  .regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/)
  .meta({ title: 'duration, such as 30m or 1h30m' })

/** A number of nodes, or a share of them such as 25%. 0% is refused: a share is at least one node, so it would stop nothing. */
export const numberOrPercent = z
  .union([z.int().min(0).max(100_000), z.string().regex(/^(100|[1-9][0-9]?)%$/)])
  .meta({ title: 'number, or percentage such as 25%' })

/** Selects nodes or pods by their labels, as everywhere in Kubernetes. */
export const labelSelector = z.object({
  matchLabels: z
    .record(z.string(), z.string().max(63))
    .optional()
    .describe('labels that must be there, with these values'),
  matchExpressions: z
    .array(
      z.object({
        key: z.string().min(1).max(317).describe('a label'),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('how its value is compared'),
        values: z.array(z.string().max(63)).max(64).optional().describe('for In and NotIn'),
      }),
    )
    .max(16)
    .optional()
    .describe('conditions on labels; all of them must hold'),
})

/** Without values it matches nothing, or everything: what never holds must not look like what does. */
export const wholeSelector: Rule = {
  rule: "!has(self.matchExpressions) || self.matchExpressions.all(one, (one.operator in ['In', 'NotIn']) == (has(one.values) && size(one.values) > 0))",
  message: 'In and NotIn need values, Exists and DoesNotExist have none',
  fieldPath: '.matchExpressions',
}

/** The same fact as elsewhere in a status, in the shape that `kubectl wait` and other programs read. */
export function conditionOf<const Types extends readonly [string, ...string[]]>(types: Types) {
  return z.object({
    type: z.enum(types).describe('what it is about'),
    status: z.enum(['True', 'False', 'Unknown']).describe('whether it is so'),
    reason: z.string().describe('one word for programs'),
    message: z.string().describe('a sentence for people'),
    lastTransitionTime: time.describe('since when it is so'),
  })
}

/**
 * Marks a list whose items have a name of their own: no two with the same, and server-side apply merges them one by one.
 * Give it to `.meta()` last, because every check after it makes a schema that has forgotten it.
 */
export function keyedBy(key: string, description: string) {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key], description } as const
}
