import { describe, expect, test } from 'vitest'
import type { MaintenanceBudgetSpec, Slot } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { Census } from './census.ts'
import { budget, cordonedNode, node, slot } from './fixture-world.ts'
import { figuresOf, resolveMax, Tally } from './limits.ts'
import { isControlPlane, isReady, staticPodAilment, unavailability } from './node-facts.ts'

test.for([
  [1, 100, 1],
  [0, 100, 0],
  [7, 3, 7],
  ['25%', 10, 2],
  ['1%', 10, 1],
  ['1%', 0, 1],
  ['100%', 5, 5],
  ['0%', 5, 0],
] as const)('a maximum of %s of %i nodes is %i', ([max, total, expected]) => {
  expect(resolveMax(max, total)).toBe(expected)
})

const spec = (more: Partial<MaintenanceBudgetSpec> = {}) => budget(more).spec
const zone = 'topology.kubernetes.io/zone'
const inZone = (name: string, value: string, more: Parameters<typeof node>[1] = {}) =>
  node(name, { ...more, labels: { [zone]: value, ...more.labels } })
const tallyOf = (
  limits: MaintenanceBudgetSpec,
  slots: readonly Slot[],
  nodes: readonly NodeObject[],
  ailmentOf?: (node: NodeObject) => string | undefined,
) => new Tally(limits, slots, new Census().see(nodes, limits), ailmentOf)
const outOf = (tally: Tally) => tally.all().flatMap(({ out }) => [...out.values()].map(({ name }) => name))
/** Each limit as `name group: out/max of total`, the whole first. */
const shown = (tally: Tally) =>
  tally
    .all()
    .map(({ name, group, out, max, total }) => `${[name, group].join(' ').trim()}: ${out.size}/${max} of ${total}`)
    .sort((a, b) => Number(b.startsWith('cluster')) - Number(a.startsWith('cluster')) || (a < b ? -1 : 1))

describe('nodes that are out', () => {
  test('are those with a slot and those that are down, each once', () => {
    const nodes = [
      node('a', { isCordoned: true }),
      node('b', { isReady: false, isCordoned: true }),
      node('c'),
      node('d', { isCordoned: true }),
    ]
    const [cluster] = tallyOf(spec(), [slot('a', 1, 'r')], nodes).all()
    expect([...(cluster?.out.values() ?? [])].map(({ name, why, slot: held }) => [name, why, held?.token])).toEqual([
      ['a', 'out since 2026-03-01 11:00 UTC', 1],
      ['b', 'NotReady', undefined],
      ['d', 'Cordoned', undefined],
    ])
  })

  test('without a slot count only for the reasons that the budget names', () => {
    const nodes = [node('a', { isCordoned: true }), node('b', { isReady: false })]
    expect(outOf(tallyOf(spec({ countUnavailable: ['NotReady'] }), [], nodes))).toEqual(['b'])
    expect(outOf(tallyOf(spec({ countUnavailable: [] }), [], nodes))).toEqual([])
    expect(unavailability({ countUnavailable: ['Cordoned'] }, node('b', { isReady: false }))).toBeUndefined()
  })

  test('cost nothing more when their turn comes, but a mark of ours that is left from another turn is no such reason', () => {
    const nodes = [node('a'), node('b', { isCordoned: true }), cordonedNode('c')]
    const tally = tallyOf(spec({ max: 1 }), [slot('a', 1, 'r')], nodes)
    const isFull = (index: number) => tally.full(nodes[index] ?? node('?')).length > 0
    expect([isFull(0), isFull(1), isFull(2)]).toEqual([false, false, true])
  })

  test('are told apart by UID: a new node of the same name is another one', () => {
    const renewed = { ...node('a', { isReady: false }), metadata: { name: 'a', uid: 'new' } }
    expect(outOf(tallyOf(spec(), [slot('a', 1, 'r')], [renewed]))).toHaveLength(2)
  })

  test('are NotReady when they have no condition, or nobody knows', () => {
    expect(isReady({ metadata: {} })).toBe(false)
    expect(isReady({ metadata: {}, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } })).toBe(false)
  })

  test('whose slot rests count on, although they are back', () => {
    const resting = { ...slot('a', 1), soakUntil: '2026-03-01T13:00:00.000Z' }
    expect(outOf(tallyOf(spec(), [resting], [node('a')]))).toEqual(['a'])
  })
})

test.for([
  ['node-role.kubernetes.io/control-plane', true],
  ['node-role.kubernetes.io/master', true],
  ['node-role.kubernetes.io/worker', false],
] as const)('a node with the label %s: control plane %s', ([label, expected]) => {
  expect(isControlPlane(node('a', { labels: { [label]: '' } }))).toBe(expected)
})

describe('a limit by group', () => {
  const limits = [{ name: 'zones', groupBy: zone, max: 1 }]
  const nodes = [inZone('a', 'x'), inZone('b', 'x'), inZone('c', 'y'), node('d'), node('e')]

  test('holds for each value of the label; nodes without it form one group', () => {
    const tally = tallyOf(spec({ max: 5, limits }), [slot('a', 1, 'r'), slot('d', 2, 's')], nodes)
    expect(shown(tally)).toEqual(['cluster: 2/5 of 5', 'zones x: 1/1 of 2', 'zones y: 0/1 of 1', 'zones: 1/1 of 2'])
    const isFree = (name: string) =>
      tally.full(nodes.find(({ metadata }) => metadata.name === name) ?? node('?')).length === 0
    expect(['b', 'c', 'e'].map(isFree)).toEqual([false, true, false])
    expect(isFree('a')).toBe(true)
  })

  test('of a share counts the nodes of the group, and always lets one go', () => {
    const many = [...Array.from({ length: 9 }, (_, index) => inZone(`x${index}`, 'x')), inZone('y', 'y')]
    const tally = tallyOf(spec({ max: 9, limits: [{ name: 'zones', groupBy: zone, max: '25%' }] }), [], many)
    expect(shown(tally).slice(1)).toEqual(['zones x: 0/2 of 9', 'zones y: 0/1 of 1'])
  })

  test('is remembered by the slot, so that a node that is gone still counts there', () => {
    const tally = tallyOf(spec({ max: 5, limits }), [{ ...slot('gone', 1, 'r'), groups: { zones: 'x' } }], nodes)
    expect(tally.full(nodes[0] ?? node('?')).map(({ name, group }) => [name, group])).toEqual([['zones', 'x']])
    expect(tally.full(nodes[2] ?? node('?'))).toEqual([])
    expect(tally.groupsOf(nodes[3] ?? node('?'))).toEqual({ zones: '' })
  })

  test('and a place that is taken count from then on', () => {
    const tally = tallyOf(spec({ max: 5, limits }), [], nodes)
    tally.take(nodes[0] ?? node('?'), slot('a', 1, 'r'))
    expect(tally.full(nodes[1] ?? node('?')).map(({ group }) => group)).toEqual(['x'])
  })
})

describe('a limit by selector', () => {
  const gpu = { labels: { pool: 'gpu' } }
  const limits = [{ name: 'gpu', nodeSelector: { matchLabels: { pool: 'gpu' } }, max: '25%' }]

  test('is about the nodes that match, and about no other', () => {
    const nodes = [...Array.from({ length: 8 }, (_, index) => node(`g${index}`, gpu)), node('web', { isReady: false })]
    const tally = tallyOf(spec({ max: 9, limits }), [slot('g0', 1, 'r'), slot('g1', 2, 's')], nodes)
    expect(shown(tally)).toEqual(['cluster: 3/9 of 9', 'gpu: 2/2 of 8'])
    expect(tally.full(nodes[7] ?? node('?')).map(({ name }) => name)).toEqual(['gpu'])
    expect(tally.full(nodes[8] ?? node('?'))).toEqual([])
  })

  test('can be grouped as well', () => {
    const both = [{ name: 'gpu', nodeSelector: { matchLabels: { pool: 'gpu' } }, groupBy: zone, max: 1 }]
    const nodes = [inZone('a', 'x', gpu), inZone('b', 'x'), inZone('c', 'y', gpu)]
    const tally = tallyOf(spec({ max: 9, limits: both }), [slot('b', 1, 'r')], nodes)
    expect(shown(tally)).toEqual(['cluster: 1/9 of 3', 'gpu x: 0/1 of 1', 'gpu y: 0/1 of 1'])
  })

  test('of 0 lets none of its nodes go, not even one that is out already', () => {
    const tally = tallyOf(
      spec({ max: 9, limits: [{ ...limits[0], name: 'gpu', max: 0 }] }),
      [],
      [node('a', { ...gpu, isReady: false }), node('b')],
    )
    expect(tally.full(node('a', gpu)).map(({ name }) => name)).toEqual(['gpu'])
    expect(tally.full(node('b'))).toEqual([])
  })
})

describe('nodes that never count', () => {
  const ignoreNodes = { matchLabels: { parked: 'true' } }
  const parked = { labels: { parked: 'true' } }
  const plane = { labels: { ...parked.labels, 'node-role.kubernetes.io/control-plane': '' } }

  test('count for the control plane all the same while they are out or NotReady; a cordon alone is what parking is', () => {
    const nodes = [node('a', plane), node('b', plane), node('c', { ...plane, isReady: false, isCordoned: true })]
    const tally = tallyOf(spec({ ignoreNodes, max: 9, countUnavailable: [] }), [slot('a', 1, 'r')], nodes)
    expect(shown(tally)).toEqual(['cluster: 0/9 of 0', 'control-plane: 2/1 of 3'])
    expect(tally.full(nodes[1] ?? node('?')).map(({ name }) => name)).toEqual(['control-plane'])
    const idle = tallyOf(spec({ ignoreNodes, max: 9 }), [], [node('a', { ...plane, isCordoned: true })])
    expect(shown(idle)).toEqual(['cluster: 0/9 of 0', 'control-plane: 0/1 of 1'])
  })

  test('are in no other limit, whatever their state', () => {
    const nodes = [node('a', { ...parked, isReady: false }), node('b', { isReady: false }), node('c')]
    const tally = tallyOf(spec({ ignoreNodes, max: '50%' }), [slot('a', 1, 'r')], nodes)
    expect(shown(tally)).toEqual(['cluster: 1/1 of 2'])
    expect(tally.full(nodes[0] ?? node('?'))).toEqual([])
    expect(tally.groupsOf(nodes[0] ?? node('?'))).toEqual({})
  })

  test.for([
    {},
    { matchLabels: {} },
    { matchExpressions: [] },
    { matchLabels: {}, matchExpressions: [{ key: 'x', operator: 'NotIn' as const }] },
    { matchExpressions: [{ key: 'x', operator: 'NotIn' as const, values: [] }] },
    { matchLabels: { parked: 'true' }, matchExpressions: [{ key: 'x', operator: 'NotIn' as const }] },
    { matchExpressions: [{ key: 'parked', operator: 'Exists' as const, values: ['true'] }] },
  ])('are none where the selector cannot have been meant: %j', (unmeant) => {
    const nodes = [node('a', parked), node('b')]
    const tally = tallyOf(spec({ ignoreNodes: unmeant, max: 1 }), [slot('a', 1, 'r')], nodes)
    expect(shown(tally)).toEqual(['cluster: 1/1 of 2'])
    expect(tally.full(nodes[1] ?? node('?')).map(({ name }) => name)).toEqual(['cluster'])
  })

  test.for([
    { matchExpressions: [{ key: 'parked', operator: 'NotIn' as const, values: ['false'] }] },
    { matchExpressions: [{ key: 'parked', operator: 'Exists' as const }] },
    { matchExpressions: [{ key: 'serving', operator: 'DoesNotExist' as const }] },
  ])('may be named by an expression: %j', (ignoreNodes) => {
    const tally = tallyOf(spec({ ignoreNodes, max: 1 }), [slot('a', 1, 'r')], [node('a', parked)])
    expect(shown(tally)).toEqual(['cluster: 0/1 of 0'])
  })

  test('stay all the same when the budget is 0: it stops every claim', () => {
    const tally = tallyOf(spec({ ignoreNodes, max: 0 }), [], [node('a', parked)])
    expect(tally.full(node('a', parked)).map(({ name }) => name)).toEqual(['cluster'])
  })
})

test('a static pod of kube-system that is not Ready is an ailment of its node, any other pod is not', () => {
  const pod = (name: string, namespace: string, ready: string, annotations: Record<string, string>) => ({
    metadata: { name, namespace, annotations },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  })
  const mirror = { 'kubernetes.io/config.mirror': 'x' }
  const well = [
    pod('etcd-a', 'kube-system', 'True', mirror),
    pod('web', 'shop', 'False', mirror),
    pod('dns', 'kube-system', 'False', {}),
  ]
  expect(staticPodAilment(well)).toBeUndefined()
  expect(staticPodAilment([...well, pod('etcd-b', 'kube-system', 'False', mirror)])).toBe('NotReady in etcd-b')
})

describe('a limit with the name of another', () => {
  const plane = { labels: { 'node-role.kubernetes.io/control-plane': '' } }

  test('does not loosen the guard of the control plane, in whatever order nodes are seen', () => {
    const limits = [{ name: 'control-plane', max: 9 }]
    const nodes = [node('w'), node('a', plane), node('b', plane)]
    for (const seen of [nodes, [...nodes].reverse()]) {
      const tally = tallyOf(spec({ max: 9, limits, controlPlaneMax: 1 }), [slot('a', 1, 'r')], seen)
      expect(tally.full(node('b', plane)).map(({ name, max }) => [name, max])).toEqual([['control-plane', 1]])
    }
  })

  test('holds beside the whole budget', () => {
    const tally = tallyOf(
      spec({ max: 9, limits: [{ name: 'cluster', max: 1 }] }),
      [slot('a', 1, 'r')],
      [node('a'), node('b')],
    )
    expect(tally.full(node('b')).map(({ name, max }) => [name, max])).toEqual([['cluster', 1]])
  })

  test('is another one than a group that reads the same', () => {
    const limits = [
      { name: 'zones', groupBy: zone, max: 1 },
      { name: 'zones/x', max: 5 },
    ]
    const tally = tallyOf(spec({ max: 9, limits }), [slot('a', 1, 'r')], [inZone('a', 'x'), inZone('b', 'x')])
    expect(tally.full(inZone('b', 'x')).map(({ name }) => name)).toEqual(['zones'])
  })
})

describe('the figures', () => {
  test('show the whole first and then the fullest, with at most ten names each and at most 64 limits', () => {
    const nodes = Array.from({ length: 100 }, (_, index) => inZone(`n${index}`, `z${index}`, { isReady: index > 11 }))
    const limits = [{ name: 'zones', groupBy: zone, max: 1 }]
    const figures = figuresOf(tallyOf(spec({ limits }), [], nodes).all())
    expect(figures).toHaveLength(64)
    expect(figures[0]).toMatchObject({ name: 'cluster', max: 1, out: 12 })
    expect(figures[0]?.withoutSlot).toHaveLength(10)
    expect(figures[0]?.withoutSlot[0]).toBe('n0 NotReady')
    expect(figures.slice(1, 14).map(({ out }) => out)).toEqual([...Array.from({ length: 12 }, () => 1), 0])
    expect(figures[1]).toEqual({ name: 'zones/z0', max: 1, out: 1, withoutSlot: ['n0 NotReady'] })
  })
})
