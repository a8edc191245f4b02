import { describe, expect, test } from 'vitest'
import { createFor, nodeOf, passOf, warningsFor } from '../../fixture-pass.ts'
import type { Trigger, TriggerContext } from '../../plugin.ts'
import { alterAnnotation } from './alter-annotation.ts'
import { alterFinalizer } from './alter-finalizer.ts'
import { alterLabel } from './alter-label.ts'

function contextOf(metadata: object = {}): TriggerContext {
  const node = nodeOf('n1', { labels: { key: 'value' }, annotations: { key: 'value' } })
  const pass = passOf({ node: { ...node, metadata: { ...node.metadata, ...metadata } } })
  return { ...pass, sinceMs: pass.nowMs, cordonOwner: 'profile-p' }
}

/** Twice: whatever ran before a crash runs again. */
function runTwice(trigger: Trigger, context: TriggerContext) {
  expect(trigger.isOutside).toBe(false)
  expect([trigger.run(context), trigger.run(context)]).toEqual(['done', 'done'])
  return context.node
}

describe.for([
  ['labels', alterLabel],
  ['annotations', alterAnnotation],
] as const)('%s', ([which, plugin]) => {
  test.for([
    ['removes it', { key: 'key', remove: true }, {}],
    ['removes it, whatever the value', { key: 'key', value: 'value', remove: true }, {}],
    ['does not mind that there is none', { key: 'none', remove: true }, { key: 'value' }],
    ['adds another', { key: 'key2', value: 'x' }, { key: 'value', key2: 'x' }],
    ['changes it', { key: 'key', value: 'abc' }, { key: 'abc' }],
    ['sets it to nothing', { key: 'key' }, { key: '' }],
  ] as const)('%s', ([, config, wanted]) => {
    expect(runTwice(createFor(plugin, config), contextOf())[which]).toEqual(wanted)
  })

  test('a node that has none gets its first', () => {
    const context = contextOf({ labels: undefined, annotations: undefined })
    expect(runTwice(createFor(plugin, { key: 'a', value: 'b' }), context)[which]).toEqual({ a: 'b' })
  })

  test('the key must be said', () => expect(plugin.fields.key.isRequired).toBe(true))
})

test('the profile label may be changed like any other: the next pass begins the new profile', () => {
  const trigger = createFor(alterLabel, { key: 'cloud.sap/maintenance-profile', value: 'other' })
  expect(runTwice(trigger, contextOf()).labels['cloud.sap/maintenance-profile']).toBe('other')
})

test.for([
  ['adds it', [], false, ['x/hold']],
  ['adds it to others', ['a/b'], false, ['a/b', 'x/hold']],
  ['leaves it where it is', ['x/hold', 'a/b'], false, ['x/hold', 'a/b']],
  ['removes it', ['a/b', 'x/hold'], true, ['a/b']],
  ['does not mind that it is not there', ['a/b'], true, ['a/b']],
] as const)('a finalizer: %s', ([, finalizers, remove, wanted]) => {
  const trigger = createFor(alterFinalizer, { key: 'x/hold', remove })
  expect(runTwice(trigger, contextOf({ finalizers })).finalizers).toEqual(wanted)
  expect(alterFinalizer.fields.key.isRequired).toBe(true)
})

test.for([
  ['fine', 'yes', []],
  ['example.org/fine', '', []],
  ['cloud.sap/maintenance-state', 'x', ["key: cloud.sap/maintenance-state is the controller's own"]],
  ['cloud.sap/maintenance-data', 'x', ["key: cloud.sap/maintenance-data is the controller's own"]],
  ['not a key', 'x', ["key: the API server takes no 'not a key'"]],
  ['fine', 'not a value', ['value: the API server takes no label of this value']],
] as const)('%s=%s', ([key, value, wanted]) => {
  const contained = wanted.map((text) => expect.stringContaining(text) as string)
  expect(warningsFor(alterLabel, { key, value })).toEqual(contained)
  expect(warningsFor(alterLabel, { key, value, remove: true })).toEqual(
    contained.filter((_, index) => wanted[index]?.startsWith('key')),
  )
})
