import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NodeObject, Taint } from '../kube/index.ts'
import { cordonOwners, cordonPatch, type NodePatch, restorePatch } from './cordon.ts'

/** As the API server applies a merge patch: null takes a field away. */
function apply(node: NodeObject, patch: NodePatch | undefined): NodeObject {
  if (!patch) return node
  expect(patch.metadata).toMatchObject({ resourceVersion: node.metadata.resourceVersion, uid: node.metadata.uid })
  const annotations = { ...node.metadata.annotations, ...patch.metadata.annotations }
  const { unschedulable = node.spec?.unschedulable ?? null, taints = node.spec?.taints ?? [] } = patch.spec ?? {}
  return {
    metadata: {
      ...node.metadata,
      resourceVersion: String(Number(node.metadata.resourceVersion) + 1),
      annotations: Object.fromEntries(
        Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== null),
      ),
    },
    spec: specOf(unschedulable === true, taints),
  }
}

function specOf(unschedulable: boolean, taints: readonly Taint[]): NonNullable<NodeObject['spec']> {
  return { ...(unschedulable ? { unschedulable } : {}), ...(taints.length > 0 ? { taints } : {}) }
}

/** Without the soft one, which is not ours. */
function stopTaints({ spec }: NodeObject): Taint[] {
  return (spec?.taints ?? []).filter(
    ({ key, effect }) => key === 'drain.fettle.dev/stopped-daemonsets' && effect === 'NoSchedule',
  )
}

const owners = ['queue', 'profile-a', 'profile-b'] as const
const claim = { request: 'r', token: 1, since: '2026-03-01T10:00:00.000Z' }
const steps = fc.array(
  fc.record({
    owner: fc.constantFrom(...owners),
    does: fc.constantFrom('cordon', 'leave', 'undo by hand'),
    stopsDaemonSets: fc.boolean(),
  }),
  { maxLength: 30 },
)
const nodes = fc.record({
  wasCordoned: fc.boolean(),
  foreign: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string()),
  taints: fc.subarray([
    { key: 'example.com/gpu', effect: 'NoSchedule' },
    { key: 'drain.fettle.dev/stopped-daemonsets', effect: 'PreferNoSchedule' },
  ]),
})

test('whatever the order in which owners come and go, the last to leave restores what was there', () => {
  fc.assert(
    fc.property(nodes, steps, ({ wasCordoned, foreign, taints }, plan) => {
      const before: NodeObject = {
        metadata: { name: 'n', uid: 'u', resourceVersion: '1', annotations: foreign },
        spec: specOf(wasCordoned, taints),
      }
      let node = before
      const holding = new Set<string>()
      for (const { owner, does, stopsDaemonSets } of plan) {
        // By hand only while somebody holds it: without an owner it is the new state before, as it should be.
        if (does === 'undo by hand') {
          if (holding.size > 0) node = { ...node, spec: specOf(false, taints) }
        } else if (does === 'cordon') {
          node = apply(node, cordonPatch(node, owner, claim, { stopsDaemonSets }))
          holding.add(owner)
          expect(node.spec?.unschedulable).toBe(true)
          if (stopsDaemonSets) expect(stopTaints(node)).toHaveLength(1)
          expect(cordonPatch(node, owner, claim, { stopsDaemonSets })).toBeUndefined()
        } else {
          const wasUndone = node.spec?.unschedulable !== true
          node = apply(node, restorePatch(node, owner))
          holding.delete(owner)
          expect(restorePatch(node, owner)).toBeUndefined()
          if (holding.size > 0 && !wasUndone) expect(node.spec?.unschedulable).toBe(true)
        }
        expect(new Set(cordonOwners(node))).toEqual(holding)
        for (const { value = '' } of stopTaints(node)) expect(holding).toContain(value)
      }
      for (const owner of owners) node = apply(node, restorePatch(node, owner))
      expect({ ...node, metadata: { ...node.metadata, resourceVersion: '1' } }).toEqual(before)
    }),
  )
})

test('of two owners one leaves: the node stays cordoned', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.shuffledSubarray([...owners], { minLength: 2 }), (wasCordoned, two) => {
      const [first = '', second = ''] = two
      const fresh: NodeObject = {
        metadata: { name: 'n', uid: 'u', resourceVersion: '1', annotations: {} },
        spec: wasCordoned ? { unschedulable: true } : {},
      }
      const one = apply(fresh, cordonPatch(fresh, first, claim))
      const both = apply(one, cordonPatch(one, second, claim))
      for (const leaving of [first, second]) {
        const left = apply(both, restorePatch(both, leaving))
        expect(left.spec?.unschedulable).toBe(true)
        expect(cordonOwners(left)).toHaveLength(1)
      }
    }),
  )
})
