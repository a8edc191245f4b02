import * as z from 'zod'
import type { Rule } from './kind.ts'

/**
 * OpenAPI v3 as Kubernetes wants it in a CRD: each node says its type itself, and nothing hides in anyOf or $ref.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export interface StructuralSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  /** A name for the type, such as `duration`. */
  readonly title?: string
  readonly description?: string
  readonly format?: string
  readonly nullable?: true
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly additionalProperties?: StructuralSchema
  readonly items?: StructuralSchema
  readonly 'x-kubernetes-int-or-string'?: true
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly Rule[]
}

type JsonSchema = z.core.JSONSchema.JSONSchema

/** A schema that cannot be said in a CRD. Only a programmer sees it: every kind of ours is converted by a test. */
export class NotStructural extends Error {
  readonly code = 'NotStructural'
  readonly path: string

  constructor(path: string, seen: string) {
    super(`${path || 'the schema'} ${seen}`)
    this.path = path
  }
}

/** What a zod schema accepts as input, as a structural schema. Fields with a default are not required: the server fills them in. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline', cycles: 'throw' }), '')
}

/** Keywords that mean the same on both sides. Types, bounds of numbers, properties and items are looked at one by one. */
const copied = [
  'title',
  'description',
  'format',
  'nullable',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
] as const
const understood = new Set<string>([
  ...copied,
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
])

function convert(node: JsonSchema, path: string): StructuralSchema {
  for (const keyword of Object.keys(node))
    if (!understood.has(keyword)) throw new NotStructural(path, `uses ${keyword}, which a CRD cannot say`)
  const common = pick(node)
  if (node.anyOf) return { ...common, ...intOrString(node.anyOf, path) }
  switch (node.type) {
    case 'object':
      return { type: 'object', ...common, ...fields(node, path) }
    case 'array':
      return {
        type: 'array',
        'x-kubernetes-list-type': 'atomic',
        ...common,
        items: convert(single(node.items, path), `${path}[]`),
      }
    case 'integer':
      return { type: 'integer', format: 'int64', ...withoutSafeBounds(common) }
    case 'string':
      return { type: 'string', ...withoutTimePattern(common) }
    case 'number':
    case 'boolean':
      return { type: node.type, ...common }
    case undefined:
      if (node.enum) throw new NotStructural(path, 'mixes types in one enum')
      return { ...common, 'x-kubernetes-preserve-unknown-fields': true }
    case 'null':
      break
  }
  throw new NotStructural(path, `has the type ${String(node.type)}`)
}

function pick(node: JsonSchema): StructuralSchema {
  return Object.fromEntries(
    copied.filter((keyword) => node[keyword] !== undefined).map((keyword) => [keyword, node[keyword]]),
  )
}

function fields(node: JsonSchema, path: string): StructuralSchema {
  const properties = Object.entries(node.properties ?? {})
  const others = node.additionalProperties
  const isOpen = others === true || (typeof others === 'object' && Object.keys(others).length === 0)
  if (properties.length > 0 && typeof others === 'object' && !isOpen)
    throw new NotStructural(path, 'has both named fields and a schema for all others')
  return {
    ...(node.required && node.required.length > 0 ? { required: node.required } : {}),
    ...(properties.length > 0
      ? {
          properties: Object.fromEntries(
            properties.map(([name, field]) => [name, convert(single(field, path), path ? `${path}.${name}` : name)]),
          ),
        }
      : {}),
    // `false` cannot be said, and need not be: the server prunes what it does not know.
    ...(isOpen ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(typeof others === 'object' && !isOpen ? { additionalProperties: convert(others, `${path}.*`) } : {}),
  }
}

/** The one union that Kubernetes knows. Bounds speak of numbers and patterns of text, so both can stand side by side. */
function intOrString(branches: readonly JsonSchema[], path: string): StructuralSchema {
  const [first, second, ...more] = branches
  if (first?.type !== 'integer' || second?.type !== 'string' || more.length > 0)
    throw new NotStructural(path, 'is a union; only integer or string can be said, write others as an enum and a rule')
  return { 'x-kubernetes-int-or-string': true, ...withoutSafeBounds(pick(first)), ...withoutTimePattern(pick(second)) }
}

/** Zod bounds integers by what JavaScript can hold, which says nothing to a reader. */
function withoutSafeBounds({ minimum, maximum, ...rest }: StructuralSchema): StructuralSchema {
  return {
    ...rest,
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}

/** The server checks date-time itself; zod's pattern for it is 300 characters that nobody reads. */
function withoutTimePattern({ pattern, ...rest }: StructuralSchema): StructuralSchema {
  return { ...rest, ...(pattern === undefined || rest.format === 'date-time' ? {} : { pattern }) }
}

function single(node: JsonSchema['items'], path: string): JsonSchema {
  if (typeof node !== 'object' || Array.isArray(node))
    throw new NotStructural(path, 'has no schema, or several in a row')
  return node
}
