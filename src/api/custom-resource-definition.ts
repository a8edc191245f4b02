import { group, type KindDefinition, type Rule, version } from './kind.ts'
import { maintenanceBudget } from './maintenance-budget.ts'
import { maintenanceFreeze } from './maintenance-freeze.ts'
import { maintenanceRequest } from './maintenance-request.ts'
import { maintenanceWindow } from './maintenance-window.ts'
import { NotStructural, type StructuralSchema, structuralSchema } from './structural-schema.ts'

/** Every kind of ours, in the order in which people meet them. */
export const kinds: readonly KindDefinition[] = [
  maintenanceRequest,
  maintenanceBudget,
  maintenanceWindow,
  maintenanceFreeze,
]

/** The parts of a CRD that we write. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'CustomResourceDefinition'
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly scope: 'Cluster'
    readonly names: {
      readonly kind: string
      readonly listKind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames: readonly string[]
      readonly categories: readonly string[]
    }
    readonly versions: readonly [
      {
        readonly name: string
        readonly served: true
        readonly storage: true
        readonly schema: { readonly openAPIV3Schema: StructuralSchema }
        readonly subresources: { readonly status: object }
        readonly additionalPrinterColumns: KindDefinition['printerColumns']
        readonly selectableFields?: readonly { readonly jsonPath: string }[]
      },
    ]
  }
}

/** The CRDs of every kind; the same call gives the same text. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return kinds.map(customResourceDefinition)
}

export function customResourceDefinition(definition: KindDefinition): CustomResourceDefinition {
  const { kind, plural, shortNames, printerColumns, selectableFields } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames,
        categories: ['fettle'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(definition) },
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns,
          ...(selectableFields.length > 0
            ? { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }
            : {}),
        },
      ],
    },
  }
}

/** The schema of a whole object, with the kind's rules at their places. */
export function objectSchema(definition: KindDefinition): StructuralSchema {
  const whole: StructuralSchema = {
    type: 'object',
    description: definition.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: `always ${group}/${version}` },
      kind: { type: 'string', description: `always ${definition.kind}` },
      metadata: { type: 'object' },
      spec: part(definition.spec, 'what is wanted'),
      status: part(definition.status, 'what is the case; written by Fettle'),
    },
  }
  return Object.entries(definition.rules).reduce(
    (schema, [path, rules]) => withRules(schema, path === '' ? [] : path.split('.'), rules, path),
    whole,
  )
}

function part(schema: KindDefinition['spec'], description: string): StructuralSchema {
  return { type: 'object', description, ...structuralSchema(schema) }
}

function withRules(
  schema: StructuralSchema,
  [name, ...rest]: readonly string[],
  rules: readonly Rule[],
  path: string,
): StructuralSchema {
  if (name === undefined) return { ...schema, 'x-kubernetes-validations': rules }
  if (name === '[]' && schema.items) return { ...schema, items: withRules(schema.items, rest, rules, path) }
  const field = schema.properties?.[name]
  if (!field) throw new NotStructural(path, 'does not exist, but a rule hangs on it')
  return { ...schema, properties: { ...schema.properties, [name]: withRules(field, rest, rules, path) } }
}
