import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, Phase } from '../api/index.ts'
import { decideLedger, type LedgerDecision, type LedgerWorld } from './decide-ledger.ts'
import { budget, cordonedNode, heldSlot, node, noon, request, slot } from './fixture-world.ts'
import { emptyLedger, isControlPlane, outNodes, resolveMax, slotOf, withClaim, withRelease } from './ledger.ts'
import { inOrder, olderTwin } from './order.ts'

const nodeNames = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] as const

const nodeStates = fc.record({
  exists: fc.boolean(),
  isReady: fc.boolean(),
  isCordoned: fc.boolean(),
  isControlPlane: fc.boolean(),
  /** Whether the queue still has it cordoned, if a slot says that it is out. */
  isHeld: fc.boolean(),
})

const requestStates = fc.record({
  node: fc.constantFrom(...nodeNames),
  key: fc.constantFrom('x', 'y', 'z'),
  phase: fc.constantFrom<Phase | undefined>(undefined, 'Queued', 'Claimed', 'Granted', 'Finishing', 'Done'),
  wantsReturn: fc.boolean(),
  isSecured: fc.boolean(),
  isInLedger: fc.boolean(),
  priority: fc.integer({ min: -2, max: 2 }),
  second: fc.integer({ min: 0, max: 3 }),
})

/** Any world that crashes, hand edits and lost ledgers can leave behind. Requests of one node share its token. */
const worlds: fc.Arbitrary<LedgerWorld> = fc
  .record({
    nodes: fc.array(nodeStates, { minLength: nodeNames.length, maxLength: nodeNames.length }),
    requests: fc.array(requestStates, { maxLength: 10 }),
    max: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('10%', '50%')),
    controlPlaneMax: fc.integer({ min: 1, max: 2 }),
    countUnavailable: fc.subarray<'NotReady' | 'Cordoned'>(['NotReady', 'Cordoned']),
    vanished: fc.boolean(),
  })
  .map(({ nodes, requests, max, controlPlaneMax, countUnavailable, vanished }) => {
    const tokenOf = (name: string) => nodeNames.indexOf(name as (typeof nodeNames)[number]) + 1
    const made: MaintenanceRequest[] = requests.map((state, index) => {
      const holds = state.phase === 'Claimed' || state.phase === 'Granted' || state.phase === 'Finishing'
      return request(`r${index}`, state.node, {
        metadata: {
          finalizers: state.isSecured || holds ? ['fettle.dev/give-back'] : [],
          creationTimestamp: `2026-03-01T10:00:0${state.second}Z`,
        },
        spec: {
          source: { kind: 'Person', key: state.key },
          priority: state.priority,
          want: state.phase === 'Finishing' || state.wantsReturn ? 'Return' : 'Out',
        },
        ...(state.phase
          ? { status: { phase: state.phase, ...(holds ? { slot: heldSlot(tokenOf(state.node)) } : {}) } }
          : {}),
      })
    })
    const slots = nodeNames.flatMap((name) => {
      const listed = requests.flatMap((state, index) =>
        state.node === name && state.isInLedger && state.phase !== 'Done' ? [`r${index}`] : [],
      )
      if (vanished && name === 'n5') listed.push('vanished')
      return listed.length > 0 ? [slot(name, tokenOf(name), ...listed)] : []
    })
    const isOut = new Set(slots.map((one) => one.node))
    const stored = budget({ max, controlPlaneMax, countUnavailable }, ...slots)
    return {
      budget: { ...stored, status: { slots, nextToken: nodeNames.length + 1 } },
      requests: made,
      nodes: nodeNames.flatMap((name, index) => {
        const state = nodes[index]
        if (!state?.exists) return []
        if (isOut.has(name) && state.isHeld) return [cordonedNode(name)]
        const labels: Record<string, string> = state.isControlPlane
          ? { 'node-role.kubernetes.io/control-plane': '' }
          : {}
        return [node(name, { isReady: state.isReady, isCordoned: state.isCordoned, labels })]
      }),
      now: noon,
    }
  })

/** What the ledger holds once the decision is stored. */
function stored({ budget: before, now }: LedgerWorld, { claims, releases }: LedgerDecision) {
  const freed = releases.reduce((status, one) => withRelease(status, one.request), before.status ?? emptyLedger)
  return claims.reduce((status, claim) => withClaim(status, claim, now), freed)
}

const outIn = ({ budget: { spec }, nodes }: LedgerWorld, slots: NonNullable<MaintenanceBudget['status']>['slots']) =>
  outNodes(spec, slots, nodes)

function check(property: (world: LedgerWorld, decision: LedgerDecision) => void): void {
  fc.assert(
    fc.property(worlds, (world) => property(world, decideLedger(world))),
    { numRuns: 500 },
  )
}

test('new claims never take more nodes out than the budget and the control plane allow', () => {
  check((world, decision) => {
    const { spec } = world.budget
    const putBack = { ...decision, claims: decision.claims.filter(({ token }) => token !== undefined) }
    const before = outIn(world, stored(world, putBack).slots)
    const after = outIn(world, stored(world, decision).slots)
    const added = after.length - before.length
    if (added > 0) expect(after.length).toBeLessThanOrEqual(resolveMax(spec.max, world.nodes.length))
    const controlPlane = new Set(world.nodes.filter(isControlPlane).map(({ metadata }) => metadata.uid))
    const [was, is] = [before, after].map((out) => out.filter(({ uid }) => controlPlane.has(uid)).length)
    if ((is ?? 0) > (was ?? 0)) expect(is).toBeLessThanOrEqual(spec.controlPlaneMax)
    if (spec.max === 0)
      for (const claim of decision.claims)
        expect(claim.token !== undefined || before.some(({ uid, slot: held }) => uid === claim.nodeUID && held)).toBe(
          true,
        )
  })
})

test('every slot is of another node, every token is given once, and tokens only grow', () => {
  check((world, decision) => {
    const before = world.budget.status ?? emptyLedger
    const { slots, nextToken } = stored(world, decision)
    expect(new Set(slots.map(({ nodeUID }) => nodeUID)).size).toBe(slots.length)
    expect(new Set(slots.map(({ token }) => token)).size).toBe(slots.length)
    expect(nextToken).toBeGreaterThanOrEqual(before.nextToken)
    const known = new Set([
      ...before.slots.map(({ token }) => token),
      ...world.requests.map(({ status }) => status?.slot?.token),
    ])
    let last = before.nextToken - 1
    for (const { token } of slots) {
      expect(token).toBeLessThan(nextToken)
      if (known.has(token)) continue
      expect(token).toBe(++last)
    }
    for (const one of slots) expect(new Set(one.requests).size).toBe(one.requests.length)
  })
})

test('a claim is of a request that wants it, is secured, has no older twin, and whose node exists', () => {
  check((world, { claims }) => {
    for (const claim of claims) {
      const one = world.requests.find(({ metadata }) => metadata.name === claim.request)
      expect(one?.spec.nodeUID).toBe(claim.nodeUID)
      expect(world.nodes.map(({ metadata }) => metadata.uid)).toContain(claim.nodeUID)
      if (claim.token !== undefined || !one) continue
      expect(one.spec.want).toBe('Out')
      expect(one.metadata.finalizers).toContain('fettle.dev/give-back')
      expect(olderTwin(one, world.requests)).toBeUndefined()
    }
  })
})

test('no claim passes an earlier request that would fit', () => {
  check((world, decision) => {
    const inLedger = stored(world, decision)
    const line = inOrder(world.requests)
    for (const [place, one] of line.entries()) {
      if (!decision.waiting.has(one.metadata.name ?? '')) continue
      // Everything that was claimed and stands before it in line, but nothing that stands behind it.
      const behind = new Set(line.slice(place + 1).map(({ metadata }) => metadata.name))
      const ahead = {
        ...decision,
        claims: decision.claims.filter(({ request: name, token }) => token !== undefined || !behind.has(name)),
      }
      // Who is on its way home keeps its slot closed, wherever it stood in line.
      const aheadOrLeaving = line.filter(({ status }, index) => index <= place || status?.phase === 'Finishing')
      const held = { ...world.budget, status: stored(world, ahead) }
      const alone = decideLedger({ ...world, budget: held, requests: aheadOrLeaving })
      expect(alone.claims.map(({ request: name }) => name)).not.toContain(one.metadata.name)
    }
    for (const [name, { position }] of decision.waiting) {
      expect(slotOf(inLedger, name)).toBeUndefined()
      expect([...decision.waiting.keys()].indexOf(name) + 1).toBe(position)
    }
    const places = [...decision.waiting.keys()].map((name) => line.findIndex(({ metadata }) => metadata.name === name))
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })
})

test('a slot goes only when its request is on its way home and its node restored, or the node is gone', () => {
  check((world, { releases }) => {
    for (const { request: name, nodeUID, isLast } of releases) {
      const live = world.nodes.find(({ metadata }) => metadata.uid === nodeUID)
      if (!live) continue
      const one = world.requests.find(({ metadata }) => metadata.name === name)
      expect(one?.status?.phase).toBe('Finishing')
      if (isLast) expect(live.metadata.annotations).not.toHaveProperty('cordon.fettle.dev/queue')
    }
  })
})

test('once the decision is stored, there is nothing more to decide', () => {
  check((world, decision) => {
    const after = { ...world, budget: { ...world.budget, status: stored(world, decision) } }
    const again = decideLedger(after)
    expect(again.claims).toEqual([])
    // Whoever joined a slot just now keeps the node, so one on its way home may leave it without waiting for the node.
    const joined = new Set(decision.claims.map(({ nodeUID }) => nodeUID))
    expect(again.releases.filter(({ nodeUID, isLast }) => isLast || !joined.has(nodeUID))).toEqual([])
    expect(again.limits).toEqual(decision.limits)
    expect([...again.waiting.keys()]).toEqual([...decision.waiting.keys()])
    const settled = decideLedger({ ...after, budget: { ...world.budget, status: stored(after, again) } })
    expect({ claims: settled.claims, releases: settled.releases }).toEqual({ claims: [], releases: [] })
  })
})
