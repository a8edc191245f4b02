import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { stateLabel } from '../../names.ts'
import { anyLabel } from './any-label.ts'

const labelled = nodeOf('labelled', { labels: { label: 'gopher' } })
const bare = nodeOf('bare')

test.for([
  [{ key: 'label', value: 'gopher' }, true, {}],
  [{ key: 'label' }, true, {}],
  [{ key: 'label', value: 'something' }, false, { reason: 'no node has the label label=something' }],
  [{ key: 'zone' }, false, { reason: 'no node has the label zone' }],
] as const)('of two nodes one is labelled label=gopher; asked for %j: %s', ([config, isPassed, info]) => {
  for (const node of [labelled, bare])
    expect(createFor(anyLabel, config).check(passOf({ node, nodes: [bare, labelled] }))).toEqual({ isPassed, info })
})

test('about the state it is asked again when the node is really taken, one after the other', () => {
  expect(createFor(anyLabel, { key: stateLabel, value: 'in-maintenance' }).isShared).toBe(true)
  expect(createFor(anyLabel, { key: 'zone' }).isShared).toBe(false)
})
