import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalText, type Json, type JsonObject } from '../json.ts'
import {
  indexIn,
  isBelow,
  parsePath,
  pathText,
  placesIn,
  readableServerText,
  serverText,
  valueAt,
  without,
  withValue,
} from './field-path.ts'

const image = ['f:spec', 'f:containers', 'k:{"name":"web"}', 'f:image']

test.for([
  [image, 'spec.containers[name=web].image', '.spec.containers[name="web"].image'],
  [
    ['f:metadata', 'f:labels', 'f:example.com/tier'],
    'metadata.labels[example.com/tier]',
    '.metadata.labels.example.com/tier',
  ],
  [['f:metadata', 'f:finalizers', 'v:"a/b"'], 'metadata.finalizers[=a/b]', '.metadata.finalizers[="a/b"]'],
  [['f:ports', 'k:{"port":80,"protocol":"TCP"}'], 'ports[port=80,protocol=TCP]', '.ports[port=80,protocol="TCP"]'],
  [['f:list', 'i:0'], 'list[0]', '.list[0]'],
] as const)('%j is %s for people', ([path, text, server]) => {
  expect(pathText(path)).toBe(text)
  expect(serverText(path)).toBe(server)
})

test('what the server writes becomes readable', () => {
  expect(readableServerText('.spec.containers[name="web"].image')).toBe('spec.containers[name=web].image')
})

test.for([
  ['/spec/replicas', ['f:spec', 'f:replicas']],
  ['/metadata/annotations/a~1b~0c', ['f:metadata', 'f:annotations', 'f:a/b~c']],
  ['/webhooks/0/clientConfig', ['f:webhooks', 'i:0', 'f:clientConfig']],
  ['spec.replicas', ['f:spec', 'f:replicas']],
  ['spec.containers[name=web].image', image],
  ['metadata.labels[example.com/tier]', ['f:metadata', 'f:labels', 'f:example.com/tier']],
  ['ports[port=80,protocol=TCP]', ['f:ports', 'k:{"port":"80","protocol":"TCP"}']],
  ['metadata.finalizers[=a/b]', ['f:metadata', 'f:finalizers', 'v:"a/b"']],
  ['', undefined],
  ['/', undefined],
  ['.spec.replicas', ['f:spec', 'f:replicas']],
  ['spec..replicas', undefined],
  ['spec[', undefined],
  ['[name=x]', undefined],
] as const)('%s is written by a person', ([text, path]) => {
  expect(parsePath(text)).toEqual(path)
})

const pod: Json = {
  spec: {
    containers: [
      { name: 'side', image: 'b' },
      { name: 'web', image: 'a' },
    ],
    ports: [{ port: 80, protocol: 'UDP' }, { port: 80 }],
  },
}

describe('values', () => {
  test.for([
    [image, 'a'],
    [['f:spec', 'f:containers', 'i:0', 'f:image'], 'b'],
    [['f:spec', 'f:containers', 'k:{"name":"none"}', 'f:image'], undefined],
    [['f:spec', 'f:ports', 'k:{"port":80,"protocol":"UDP"}', 'f:protocol'], 'UDP'],
    // The protocol that the server fills in is part of the path though git does not say it.
    [['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:port'], 80],
    // Keys that a person wrote are texts.
    [['f:spec', 'f:ports', 'k:{"port":"80"}', 'f:protocol'], 'UDP'],
    [['f:toString'], undefined],
  ] as const)('at %j is %j', ([path, value]) => {
    expect(valueAt(pod, path)).toEqual(value)
  })

  test('can be left out and exchanged, also in items', () => {
    expect(valueAt(without(pod, image), image)).toBeUndefined()
    expect(valueAt(withValue(pod, image, 'c'), image)).toBe('c')
    expect(without(pod, ['f:none', 'f:deeper'])).toEqual(pod)
    expect(withValue(pod, ['f:none'], 1)).toEqual(pod)
  })

  test('and nothing else changes', () => {
    const names = fc.constantFrom('a', 'b', 'c')
    const value = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(names, tie('tree')) as fc.Arbitrary<Json>,
      ),
    })).tree
    const path = fc.array(
      fc.oneof(
        names.map((name) => `f:${name}`),
        fc.nat(2).map((at) => `i:${at}`),
      ),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(value, path, fc.integer(), (tree, where, leaf) => {
        const old = valueAt(tree, where)
        if (old === undefined) expect(withValue(tree, where, leaf)).toEqual(tree)
        else {
          expect(valueAt(withValue(tree, where, leaf), where)).toBe(leaf)
          expect(withValue(withValue(tree, where, leaf), where, old)).toEqual(tree)
        }
      }),
    )
  })
})

test.for([
  [image, ['f:spec'], true],
  [image, image, true],
  [image, ['f:spec', 'f:containers', 'k:{"name":"side"}'], false],
  [['f:spec'], image, false],
  [['f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:name'], ['f:ports', 'k:{"port":"80"}'], true],
] as const)('%j at or below %j: %s', ([path, written, expected]) => {
  expect(isBelow(path, written)).toBe(expected)
})

test('a whole list gives the same places as one item after the other', () => {
  const keys = fc.record(
    { port: fc.constantFrom<Json>(80, 81), protocol: fc.constantFrom<Json>('TCP', 'UDP') },
    { requiredKeys: ['port'] },
  ) as fc.Arbitrary<JsonObject>
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 6 }), fc.array(keys, { minLength: 1, maxLength: 4 }), (list, wanted) => {
      const elements = wanted.map((one) => `k:${canonicalText({ protocol: 'TCP', ...one })}`)
      const placeOf = placesIn(list, elements)
      for (const element of elements) expect(placeOf(element)).toBe(indexIn(list, element))
    }),
  )
})
