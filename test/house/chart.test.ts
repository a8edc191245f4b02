import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { installManifests } from '../../src/cli/install-manifests.ts'
import type { KubeObject } from '../../src/kube/index.ts'
import { normalised } from '../support/install-set.ts'

const chart = resolve(import.meta.dirname, '../../charts/fettle')
const read = (name: string) => readFileSync(join(chart, name), 'utf8')

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly additionalProperties?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Every setting by its path, with the schema that it is checked by. */
function* settings(schema: Schema, values: unknown, path: string): Generator<readonly [string, Schema | undefined]> {
  if (typeof values !== 'object' || values === null || Array.isArray(values) || schema.properties === undefined) return
  for (const [key, value] of Object.entries(values)) {
    const below = schema.properties[key]
    yield [`${path}${key}`, below]
    if (below) yield* settings(below, value, `${path}${key}.`)
  }
}

describe("the chart's schema", () => {
  const schema = JSON.parse(read('values.schema.json')) as Schema
  test.each([...settings(schema, parse(read('values.yaml')), '')])('knows %s', (_path, found) => {
    expect(found).toBeDefined()
  })

  test('refuses what it does not know, on every level, and describes the rest', () => {
    const walk = (part: Schema, path: string): string[] => [
      ...(part.properties && part.additionalProperties !== false ? [`${path} takes anything`] : []),
      ...Object.entries(part.properties ?? {}).flatMap(([key, below]) => [
        ...(below.description || '$ref' in below ? [] : [`${path}.${key} has no description`]),
        ...walk(below, `${path}.${key}`),
      ]),
    ]
    expect(walk(schema, 'values')).toEqual([])
  })
})

test('the chart has the version of the program', () => {
  expect(parse(read('Chart.yaml'))).toMatchObject({ version: manifest.version, appVersion: manifest.version })
})

// The golden renders themselves are compared with a real helm in test/e2e/install-chart.test.ts.
test('what Helm renders from the chart is what `fettle install` makes', () => {
  expect(existsSync(join(chart, 'tests/default.yaml'))).toBe(true)
  const rendered = parseAllDocuments(read('tests/default.yaml'))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
  const made = installManifests({
    namespace: 'fettle-system',
    version: manifest.version,
    managedBy: 'fettle',
    image: `fettle.dev/fettle:${manifest.version}`,
    replicas: 2,
    nodeSelector: {},
    agentArgs: [],
    sharedLocks: [],
  })
  const objects = made.map(({ object }) => object)
  expect(normalised(rendered, 'fettle-system')).toEqual(normalised(objects, 'fettle-system'))
})
