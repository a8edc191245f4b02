import { describe, expect, test } from 'vitest'
import type { NodeObject, Taint } from '../kube/index.ts'
import { type CordonClaim, cordonOwners, cordonPatch, isCordonedBy, restorePatch } from './cordon.ts'

const claim: CordonClaim = { request: 'uid-of-request', token: 42, since: '2026-03-01T10:00:00.000Z' }
const queueKey = 'cordon.fettle.dev/queue'
const priorKey = 'fettle.dev/cordon-prior'
const identity = { resourceVersion: '7', uid: 'uid-of-node' }

function node(annotations: Record<string, string>, unschedulable?: boolean): NodeObject {
  return {
    metadata: { name: 'node-1', ...identity, annotations },
    spec: unschedulable === undefined ? {} : { unschedulable },
  }
}

describe('the patch that cordons', () => {
  test('names the owner, notes that the node was schedulable, and holds only for the node that was seen', () => {
    expect(cordonPatch(node({ other: 'kept' }), 'queue', claim)).toEqual({
      metadata: { ...identity, annotations: { [queueKey]: JSON.stringify(claim), [priorKey]: 'false' } },
      spec: { unschedulable: true },
    })
  })

  test('notes that the node was cordoned by somebody else before', () => {
    expect(cordonPatch(node({}, true), 'queue', claim)?.metadata.annotations?.[priorKey]).toBe('true')
  })

  test('leaves the note of the first owner alone', () => {
    const patch = cordonPatch(
      node({ 'cordon.fettle.dev/profile-flatcar': '{}', [priorKey]: 'false' }, true),
      'queue',
      claim,
    )
    expect(patch).toEqual({
      metadata: { ...identity, annotations: { [queueKey]: JSON.stringify(claim) } },
      spec: { unschedulable: true },
    })
  })

  test('is nothing when nothing is missing', () => {
    expect(cordonPatch(node({ [queueKey]: '{}', [priorKey]: 'false' }, true), 'queue', claim)).toBeUndefined()
  })

  test('repairs a cordon that somebody undid, and does not take that for the state before', () => {
    expect(cordonPatch(node({ [queueKey]: '{}', [priorKey]: 'true' }), 'queue', claim)).toEqual({
      metadata: identity,
      spec: { unschedulable: true },
    })
  })

  describe('when DaemonSets are stopped, too,', () => {
    const taint = { key: 'drain.fettle.dev/stopped-daemonsets', value: 'queue', effect: 'NoSchedule' }
    const other = { key: 'example.com/gpu', effect: 'NoSchedule' }
    const taking = { stopsDaemonSets: true }
    const held = { [queueKey]: '{}', [priorKey]: 'false' }
    const tainted = (seen: NodeObject, ...taints: Taint[]): NodeObject => ({ ...seen, spec: { ...seen.spec, taints } })

    test('brings a taint along, beside those that are there', () => {
      expect(cordonPatch(tainted(node({}), other), 'queue', claim, taking)).toMatchObject({
        metadata: { annotations: { [priorKey]: 'false' } },
        spec: { unschedulable: true, taints: [other, taint] },
      })
    })

    test('adds it to a node that is out already, and puts it back when somebody takes it away', () => {
      expect(cordonPatch(tainted(node(held, true), other), 'queue', claim, taking)).toEqual({
        metadata: identity,
        spec: { unschedulable: true, taints: [other, taint] },
      })
    })

    test('is nothing when the taint is there, whoever put it there', () => {
      const theirs = { ...taint, value: 'profile-flatcar' }
      for (const one of [taint, theirs])
        expect(cordonPatch(tainted(node(held, true), one), 'queue', claim, taking)).toBeUndefined()
    })

    test('leaves the taint of a request that shares the node alone', () => {
      expect(cordonPatch(tainted(node(held, true), taint), 'queue', claim)).toBeUndefined()
    })

    test('goes in the write that restores, also when another owner keeps the node', () => {
      const unscheduled = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
      expect(restorePatch(tainted(node(held, true), unscheduled, taint, other), 'queue')?.spec).toEqual({
        unschedulable: null,
        taints: [unscheduled, other],
      })
      const two = tainted(node({ ...held, 'cordon.fettle.dev/profile-flatcar': '{}' }, true), taint)
      expect(restorePatch(two, 'queue')?.spec).toEqual({ taints: [] })
      expect(restorePatch(two, 'profile-flatcar')).not.toHaveProperty('spec')
    })

    test('is restored even if nothing but the taint is left of it', () => {
      expect(restorePatch(tainted(node({}), taint, other), 'queue')).toEqual({
        metadata: identity,
        spec: { taints: [other] },
      })
    })
  })

  test('works on a node without annotations and without a spec', () => {
    expect(cordonPatch({ metadata: identity }, 'queue', claim)?.spec).toEqual({ unschedulable: true })
  })
})

describe('the patch that restores', () => {
  test.for([
    ['a node that was schedulable', 'false', null],
    ['a node that was cordoned', 'true', true],
    ['a node whose note was lost: nobody is known to want it cordoned', undefined, null],
  ] as const)('for %s', ([, prior, unschedulable]) => {
    const annotations = { [queueKey]: '{}', ...(prior === undefined ? {} : { [priorKey]: prior }) }
    expect(restorePatch(node(annotations, true), 'queue')).toEqual({
      metadata: { ...identity, annotations: { [queueKey]: null, [priorKey]: null } },
      spec: { unschedulable },
    })
  })

  test('leaves the node cordoned and the note in place while another owner is there', () => {
    const two = node({ [queueKey]: '{}', 'cordon.fettle.dev/profile-flatcar': '{}', [priorKey]: 'false' }, true)
    expect(restorePatch(two, 'queue')).toEqual({ metadata: { ...identity, annotations: { [queueKey]: null } } })
  })

  test('is nothing for who is not an owner', () => {
    expect(restorePatch(node({ 'cordon.fettle.dev/queue-2': '{}' }, true), 'queue')).toBeUndefined()
  })
})

test('owners are known by their whole name', () => {
  const seen = node({
    [queueKey]: '{}',
    'cordon.fettle.dev/profile-a': '{}',
    'uncordon.fettle.dev/x': '{}',
    [priorKey]: 'true',
  })
  expect(cordonOwners(seen)).toEqual(['queue', 'profile-a'])
  expect(isCordonedBy(seen, 'queue')).toBe(true)
  expect(isCordonedBy(seen, 'profile')).toBe(false)
  expect(cordonOwners({ metadata: {} })).toEqual([])
})
