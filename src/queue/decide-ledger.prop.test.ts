import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MaintenanceRequest, Phase } from '../api/index.ts'
import { Census } from './census.ts'
import { decideLedger, type LedgerDecision, type LedgerWorld } from './decide-ledger.ts'
import { budget, condition, cordonedNode, heldSlot, node, noon, request, slot } from './fixture-world.ts'
import { emptyLedger, slotOf } from './ledger.ts'
import { Tally } from './limits.ts'
import { openGates } from './obstacles.ts'
import { inOrder, olderTwin } from './order.ts'

const nodeNames = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] as const

const nodeStates = fc.record({
  exists: fc.boolean(),
  isReady: fc.boolean(),
  isCordoned: fc.boolean(),
  isControlPlane: fc.boolean(),
  isParked: fc.boolean(),
  zone: fc.constantFrom(undefined, 'x', 'y'),
  /** Whether the queue still has it cordoned, if a slot says that it is out. */
  isHeld: fc.boolean(),
})

const requestStates = fc.record({
  node: fc.constantFrom(...nodeNames),
  key: fc.constantFrom('x', 'y', 'z'),
  phase: fc.constantFrom<Phase | undefined>(undefined, 'Queued', 'Claimed', 'Granted', 'Held', 'Finishing', 'Done'),
  hasWorked: fc.boolean(),
  starves: fc.boolean(),
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
    zoneMax: fc.integer({ min: 0, max: 2 }),
    soak: fc.constantFrom('0s', '10m'),
    hasParked: fc.boolean(),
    vanished: fc.boolean(),
    resting: fc.boolean(),
  })
  .map(({ nodes, requests, max, controlPlaneMax, countUnavailable, zoneMax, soak, hasParked, vanished, resting }) => {
    const tokenOf = (name: string) => nodeNames.indexOf(name as (typeof nodeNames)[number]) + 1
    const made: MaintenanceRequest[] = requests.map((state, index) => {
      const holds = state.phase !== undefined && state.phase !== 'Queued' && state.phase !== 'Done'
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
          ? {
              status: {
                phase: state.phase,
                conditions: holds && state.hasWorked ? [condition('PermissionGiven')] : [],
                ...(holds ? { slot: heldSlot(tokenOf(state.node)) } : {}),
                ...(state.starves
                  ? {
                      waiting: {
                        for: 'Budget' as const,
                        message: 'full',
                        since: '2026-01-01T00:00:00Z',
                        passedSince: '2026-01-01T00:00:00Z',
                      },
                    }
                  : {}),
              },
            }
          : {}),
      })
    })
    const slots = nodeNames.flatMap((name) => {
      const listed = requests.flatMap((state, index) =>
        state.node === name && state.isInLedger && state.phase !== 'Done' ? [`r${index}`] : [],
      )
      if (vanished && name === 'n5') listed.push('vanished')
      if (resting && name === 'n4' && listed.length === 0)
        return [{ ...slot(name, tokenOf(name)), soakUntil: '2026-03-01T12:05:00.000Z' }]
      return listed.length > 0 ? [slot(name, tokenOf(name), ...listed)] : []
    })
    const isOut = new Set(slots.map((one) => one.node))
    const stored = budget(
      {
        max,
        controlPlaneMax,
        countUnavailable,
        limits: [{ name: 'zones', groupBy: 'zone', max: zoneMax }],
        timing: { soak, lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 30 },
        ...(hasParked ? { ignoreNodes: { matchLabels: { parked: 'true' } } } : {}),
      },
      ...slots,
    )
    return {
      budget: { ...stored, status: { ...stored.status, slots, nextToken: nodeNames.length + 1 } },
      gates: openGates,
      requests: made,
      nodes: nodeNames.flatMap((name, index) => {
        const state = nodes[index]
        if (!state?.exists) return []
        const labels: Record<string, string> = {
          ...(state.isControlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
          ...(state.isParked ? { parked: 'true' } : {}),
          ...(state.zone ? { zone: state.zone } : {}),
        }
        if (isOut.has(name) && state.isHeld) return [cordonedNode(name, { labels })]
        return [node(name, { isReady: state.isReady, isCordoned: state.isCordoned, labels })]
      }),
      now: noon,
    }
  })

const limitsOf = ({ budget: { spec }, nodes }: LedgerWorld, { slots }: LedgerDecision['next']) =>
  new Map(new Tally(spec, slots, new Census().see(nodes, spec)).all().map((limit) => [limit.key, limit]))

/** The ledger before the new claims: what was freed is free, and what was lost is put back. */
function withoutClaims(world: LedgerWorld): LedgerDecision['next'] {
  return decideLedger({ ...world, gates: { ...openGates, staleView: 'nobody is claimed' } }).next
}

function check(property: (world: LedgerWorld, decision: LedgerDecision) => void): void {
  fc.assert(
    fc.property(worlds, (world) => property(world, decideLedger(world))),
    { numRuns: 300 },
  )
}

test('new claims never take more nodes out than any limit allows', () => {
  check((world, { claims, next }) => {
    const [before, after] = [limitsOf(world, withoutClaims(world)), limitsOf(world, next)]
    for (const [key, { out, max }] of after)
      if (out.size > (before.get(key)?.out.size ?? 0)) expect([key, out.size]).toEqual([key, Math.min(out.size, max)])
    if (world.budget.spec.max !== 0) return
    const held = new Set(withoutClaims(world).slots.flatMap((one) => (one.requests.length > 0 ? [one.nodeUID] : [])))
    for (const { nodeUID } of claims) expect(held).toContain(nodeUID)
  })
})

test('every slot is of another node, every token is given once, and tokens only grow', () => {
  check((world, decision) => {
    const before = world.budget.status ?? emptyLedger
    const { slots, nextToken } = decision.next
    expect(new Set(slots.map(({ nodeUID }) => nodeUID)).size).toBe(slots.length)
    expect(new Set(slots.map(({ token }) => token)).size).toBe(slots.length)
    expect(nextToken).toBeGreaterThanOrEqual(before.nextToken)
    const known = new Set([
      ...before.slots.map(({ token }) => token),
      ...world.requests.map(({ status }) => status?.slot?.token),
    ])
    let last = before.nextToken - 1
    for (const { token } of slots.toSorted((a, b) => a.token - b.token)) {
      expect(token).toBeLessThan(nextToken)
      if (known.has(token)) continue
      expect(token).toBeGreaterThan(last)
      last = token
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
      if (!one) continue
      expect(one.spec.want).toBe('Out')
      expect(one.metadata.finalizers).toContain('fettle.dev/give-back')
      expect(olderTwin(one, world.requests)).toBeUndefined()
    }
  })
})

test('no claim passes an earlier request that would fit', () => {
  check((world, decision) => {
    const line = inOrder(world.requests, { nowMs: Date.parse(world.now) })
    for (const name of decision.waiting.keys()) {
      const place = line.findIndex(({ metadata }) => metadata.name === name)
      // Without those that stand behind it and were claimed all the same, it would have to wait as well.
      const behind = new Set(line.slice(place + 1).map(({ metadata }) => metadata.name))
      const passing = new Set(decision.claims.map(({ request: one }) => one).filter((one) => behind.has(one)))
      const requests = world.requests.filter(({ metadata }) => !passing.has(metadata.name ?? ''))
      expect(decideLedger({ ...world, requests }).waiting.has(name)).toBe(true)
    }
    for (const [name, { position, message, for: reason }] of decision.waiting) {
      expect(slotOf(decision.next, name)).toBeUndefined()
      expect([...decision.waiting.keys()].indexOf(name) + 1).toBe(position)
      expect([message, reason]).not.toContain('')
    }
  })
})

test('a slot goes only when its request is on its way home and its node restored, or the node is gone', () => {
  check((world, { releases }) => {
    for (const { request: name, nodeUID, isLast } of releases) {
      const live = world.nodes.find(({ metadata }) => metadata.uid === nodeUID)
      if (!live) continue
      const one = world.requests.find(({ metadata }) => metadata.name === name)
      expect(['Finishing', 'Done']).toContain(one?.status?.phase)
      if (isLast) expect(live.metadata.annotations).not.toHaveProperty('cordon.fettle.dev/queue')
    }
  })
})

test('once the decision is stored, there is nothing more to decide', () => {
  check((world, decision) => {
    const after = { ...world, budget: { ...world.budget, status: decision.next } }
    const again = decideLedger(after)
    expect([again.claims, again.putBack, again.ended]).toEqual([[], [], []])
    expect(again.next.nextToken).toBe(decision.next.nextToken)
    expect([...again.waiting.keys()]).toEqual([...decision.waiting.keys()])
    const settled = decideLedger({ ...after, budget: { ...world.budget, status: again.next } })
    expect(settled.next).toEqual(again.next)
  })
})

test('a census that has seen other worlds decides as a new one', () => {
  const mixes = fc.array(fc.record({ isLater: fc.boolean(), at: fc.nat({ max: 5 }) }), { maxLength: nodeNames.length })
  fc.assert(
    fc.property(worlds, worlds, mixes, fc.boolean(), (early, late, mix, isSameBudget) => {
      const census = new Census()
      const nodes = mix.flatMap(({ isLater, at }) => (isLater ? late : early).nodes[at] ?? [])
      const byName = new Map(nodes.map((one) => [one.metadata.name, one]))
      const budgets = isSameBudget ? { budget: early.budget } : {}
      const between = { ...early, ...budgets, nodes: [...byName.values()] }
      for (const world of [early, between, { ...late, ...budgets }, between, early]) {
        const { limits, ...kept } = decideLedger(world, census)
        const { limits: fresh, ...decision } = decideLedger(world)
        expect(kept).toEqual(decision)
        const keyed = (all: typeof limits) => new Map(all.map((limit) => [limit.key, limit]))
        expect(keyed(limits)).toEqual(keyed(fresh))
      }
    }),
    { numRuns: 300 },
  )
})
