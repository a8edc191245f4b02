import { expect, test } from 'vitest'
import * as z from 'zod'
import { type StructuralSchema, structuralSchema } from './structural-schema.ts'
import { keyedBy, numberOrPercent, time } from './values.ts'

const table: readonly (readonly [string, z.ZodType, StructuralSchema])[] = [
  ['text keeps its bounds', z.string().min(1).max(9), { type: 'string', minLength: 1, maxLength: 9 }],
  ['a pattern is kept', z.string().regex(/^a+$/), { type: 'string', pattern: '^a+$' }],
  ['a whole number loses bounds that only JavaScript has', z.int(), { type: 'integer', format: 'int64' }],
  [
    'a whole number keeps bounds of its own',
    z.int().min(-3).max(7),
    { type: 'integer', format: 'int64', minimum: -3, maximum: 7 },
  ],
  ['an open bound says so', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  ['a choice is an enum', z.enum(['A', 'B']), { type: 'string', enum: ['A', 'B'] }],
  ['one value is an enum of one', z.literal('A'), { type: 'string', enum: ['A'] }],
  ['a time has a format and no pattern', time, { type: 'string', format: 'date-time' }],
  ['null must be allowed', z.string().nullable(), { type: 'string', nullable: true }],
  [
    'a description and a default are kept',
    z.boolean().default(true).describe('whether'),
    { type: 'boolean', default: true, description: 'whether' },
  ],
  [
    'a number or a percentage is the one union that Kubernetes knows',
    numberOrPercent.default(1),
    {
      'x-kubernetes-int-or-string': true,
      title: 'number, or percentage such as 25%',
      default: 1,
      minimum: 0,
      maximum: 100_000,
      pattern: '^(100|[1-9][0-9]?)%$',
    },
  ],
  [
    'a list belongs to one writer as a whole',
    z.array(z.string()).max(3),
    { type: 'array', 'x-kubernetes-list-type': 'atomic', maxItems: 3, items: { type: 'string' } },
  ],
  [
    'a list with keys says so, optional or not',
    z
      .array(z.object({ type: z.string() }))
      .max(3)
      .meta(keyedBy('type', 'facts'))
      .optional(),
    {
      type: 'array',
      description: 'facts',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      maxItems: 3,
      items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
    },
  ],
  [
    'a field is required unless it is optional or has a default',
    z.object({ a: z.string(), b: z.string().optional(), c: z.string().default('c') }),
    {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string', default: 'c' } },
    },
  ],
  [
    'a map has a schema for its values',
    z.record(z.string(), z.int()),
    { type: 'object', additionalProperties: { type: 'integer', format: 'int64' } },
  ],
  ['an object without unknown fields needs no word: they are pruned', z.strictObject({}), { type: 'object' }],
  [
    'an open object keeps what it has',
    z.looseObject({}),
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  ],
  ['anything keeps what it has', z.unknown(), { 'x-kubernetes-preserve-unknown-fields': true }],
]

test.for(table)('%s', ([, schema, expected]) => {
  expect(structuralSchema(schema)).toEqual(expected)
})

test.for([
  ['a union of objects', z.object({ a: z.union([z.object({}), z.string()]) }), 'a is a union; only integer or string'],
  ['an enum of several types', z.object({ a: z.literal(['x', 1]) }), 'a mixes types'],
  ['a tuple', z.object({ a: z.array(z.tuple([z.string(), z.int()])) }), 'a[][] is a union'],
  ['named fields and a schema for all others', z.object({ a: z.int() }).catchall(z.string()), 'the schema has both'],
  ['two conditions in one', z.object({ a: z.intersection(z.string(), z.string().min(1)) }), 'a uses allOf'],
] as const)('refuses %s by its path, because a CRD cannot say it', ([, schema, message]) => {
  const convert = () => structuralSchema(schema)
  expect(convert).toThrow(expect.objectContaining({ code: 'NotStructural' }))
  expect(convert).toThrow(message)
})
