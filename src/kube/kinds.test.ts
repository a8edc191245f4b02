import type * as coordination from 'kubernetes-types/coordination/v1.js'
import type * as core from 'kubernetes-types/core/v1.js'
import type * as policy from 'kubernetes-types/policy/v1.js'
import { describe, expectTypeOf, it } from 'vitest'
import type { Lease, NodeObject, PodDisruptionBudget, PodObject } from './kinds.ts'
import { controllerUid } from './kinds.ts'

/** The public types mark every field as optional-or-absent; an object from the server always has metadata. */
type FromServer<T extends { metadata?: unknown }> = T & { metadata: NonNullable<T['metadata']> }

describe('the narrow kinds', () => {
  it('accept a Node as the API describes it', () => {
    expectTypeOf<FromServer<core.Node>>().toExtend<NodeObject>()
  })
  it('accept a Pod as the API describes it', () => {
    expectTypeOf<FromServer<core.Pod>>().toExtend<PodObject>()
  })
  it('accept a PodDisruptionBudget as the API describes it', () => {
    expectTypeOf<FromServer<policy.PodDisruptionBudget>>().toExtend<PodDisruptionBudget>()
  })
  it('accept a Lease as the API describes it', () => {
    expectTypeOf<FromServer<coordination.Lease>>().toExtend<Lease>()
  })
})

describe('controllerUid', () => {
  it('names the owner that controls, not just any owner', ({ expect }) => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'plain' }
    expect(controllerUid({ ownerReferences: [owner, { ...owner, uid: 'boss', controller: true }] })).toBe('boss')
    expect(controllerUid({ ownerReferences: [owner] })).toBeUndefined()
  })
})
