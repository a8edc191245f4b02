import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { type StructuralSchema, structuralSchema } from './structural-schema.ts'
import { numberOrPercent } from './values.ts'

/** What the API server checks, as far as the schemas below use it. */
function accepts(schema: StructuralSchema, value: unknown): boolean {
  if (value === null) return schema.nullable === true
  if (schema.enum && !schema.enum.includes(value)) return false
  if (schema['x-kubernetes-int-or-string']) {
    const type = typeof value === 'string' ? 'string' : 'integer'
    const { 'x-kubernetes-int-or-string': _, ...bounds } = schema
    return accepts({ ...bounds, type }, value)
  }
  switch (schema.type) {
    case 'string':
      return (
        typeof value === 'string' &&
        isWithin(value.length, schema.minLength, schema.maxLength) &&
        matches(schema, value)
      )
    case 'integer':
      return Number.isSafeInteger(value) && isWithin(Number(value), schema.minimum, schema.maximum)
    case 'number':
      return Number.isFinite(value) && isWithin(Number(value), schema.minimum, schema.maximum)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return (
        Array.isArray(value) &&
        isWithin(value.length, schema.minItems, schema.maxItems) &&
        value.every((item) => accepts(schema.items ?? {}, item))
      )
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) && acceptsFields(schema, { ...value })
    case undefined:
      break
  }
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

function acceptsFields(schema: StructuralSchema, value: Record<string, unknown>): boolean {
  if (schema.required?.some((name) => value[name] === undefined)) return false
  return Object.entries(value).every(([name, field]) => {
    const fieldSchema = schema.properties?.[name] ?? schema.additionalProperties
    return fieldSchema === undefined || accepts(fieldSchema, field)
  })
}

const isWithin = (size: number, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) =>
  size >= least && size <= most
const matches = ({ pattern }: StructuralSchema, text: string) => pattern === undefined || new RegExp(pattern).test(text)

const bounds = fc.tuple(fc.nat(4), fc.nat(4)).map(([least, more]) => [least, least + more] as const)
const fieldName = fc.constantFrom('a', 'b', 'c')

/** Schemas of the sort that our kinds are made of. */
const { schema: anySchema } = fc.letrec<{ schema: z.ZodType; leaf: z.ZodType }>((tie) => ({
  leaf: fc.oneof(
    bounds.map(([least, most]) => z.string().min(least).max(most)),
    bounds.map(([least, most]) => z.int().min(least).max(most)),
    fc.constant(z.int()),
    fc.constant(z.number()),
    fc.constant(z.boolean()),
    fc.constant(numberOrPercent),
    fc.constant(z.string().regex(/^a*$/)),
    fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }).map((values) => z.enum(values)),
  ),
  schema: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    tie('leaf'),
    tie('leaf').map((schema) => schema.nullable()),
    fc.tuple(tie('schema'), bounds).map(([item, [least, most]]) => z.array(item).min(least).max(most)),
    tie('schema').map((item) => z.record(z.string(), item)),
    fc
      .dictionary(fieldName, fc.tuple(tie('schema'), fc.boolean()), { noNullPrototype: true })
      .map((fields) =>
        z.object(
          Object.fromEntries(
            Object.entries(fields).map(([name, [field, isOptional]]) => [name, isOptional ? field.optional() : field]),
          ),
        ),
      ),
  ),
}))

/** Values that come close to the schemas: small numbers, short texts, the same field names. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      2,
      5,
      -1,
      1.5,
      '',
      'a',
      'aa',
      'aaaa',
      'x',
      'y',
      '25%',
      '120%',
      '0%',
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fieldName, tie('value'), { noNullPrototype: true }),
  ),
})).value

test('a structural schema accepts what zod accepts, and nothing else', () => {
  const answers = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(anySchema, fc.array(anyValue, { minLength: 20, maxLength: 20 }), (schema, values) => {
      const structural = structuralSchema(schema)
      const wrong = values.filter((value) => {
        const { success } = schema.safeParse(value)
        answers[success ? 'accepted' : 'refused']++
        return accepts(structural, value) !== success
      })
      expect(wrong).toEqual([])
    }),
    { numRuns: 200 },
  )
  // Both answers must occur, or the values say nothing about the schemas.
  expect(Math.min(answers.accepted, answers.refused)).toBeGreaterThan(40)
})
