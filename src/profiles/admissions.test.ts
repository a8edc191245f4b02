import { describe, expect, test } from 'vitest'
import { budgetName, type MaintenanceBudget } from '../api/index.ts'
import { ApiError, type KubeClient, type NodeObject } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { Admissions } from './admissions.ts'
import { createFor, type NodeParts, nodeOf, noon, passOf } from './fixture-pass.ts'
import { profileLabel, stateLabel } from './names.ts'
import type { ClusterView } from './plugin.ts'
import { maxMaintenance } from './plugins/check/max-maintenance.ts'
import { draftOf } from './state/draft.ts'
import { evaluateAgain, evaluateChain, whyNoLonger } from './state/evaluate-chain.ts'
import { progressAnnotation } from './state/progress.ts'

type Admission = NonNullable<NonNullable<MaintenanceBudget['status']>['admissions']>[number]

const entry = (node: string, more: Partial<Admission> = {}): Admission => ({
  node,
  nodeUID: `uid-${node}`,
  nodeVersion: '5',
  profile: 'p',
  at: new Date(noon).toISOString(),
  ...more,
})

function versioned(name: string, version: number, parts: NodeParts = {}): NodeObject {
  const { metadata, ...rest } = nodeOf(name, parts)
  return { ...rest, metadata: { ...metadata, resourceVersion: String(version) } }
}

/** A ledger that several write to, and what one of them sees of the nodes. */
class Room {
  readonly clock = new FakeClock(noon)
  nodes: NodeObject[] = []
  /** What the API server has, where the view is behind. */
  live: NodeObject[] = []
  admissions: readonly Admission[] = []
  writes = 0
  /** Runs once before the next write, as somebody who is faster. */
  beforeWrite: (() => void) | undefined
  hasLedger = true
  uid = 'u'
  /** Which nodes were asked for. */
  readonly lists: string[] = []
  #version = 1

  open({ isDryRun = false } = {}): Admissions {
    const cluster: ClusterView = { nodes: () => this.nodes, podsOn: () => [] }
    return new Admissions({
      client: this.#client,
      budgets: { get: () => (this.hasLedger ? this.#ledger() : undefined) },
      nodes: { get: ({ name }) => this.nodes.find(({ metadata }) => metadata.name === name), isSynced: true },
      cluster,
      clock: this.clock,
      signal: new AbortController().signal,
      isDryRun,
    })
  }

  somebodyElse(admissions: readonly Admission[]): void {
    this.admissions = admissions
    this.#version++
  }

  /** Asks for a node as a look at it does. */
  async ask(admissions: Admissions, name: string, max: number): Promise<string | undefined> {
    const node = this.nodes.find(({ metadata }) => metadata.name === name) ?? nodeOf(name)
    const room = { name: 'room', type: 'maxMaintenance', instance: createFor(maxMaintenance, { max }) }
    const chain = { expression: 'room', checks: [room], evaluate: ([first = false]: readonly boolean[]) => first }
    const passed = await evaluateChain(chain, passOf({ node, nodes: [] }))
    return admissions.admit(draftOf(node), 'p', async (cluster) =>
      whyNoLonger(passed, await evaluateAgain(chain, passed, { ...passOf({ node }), cluster })),
    )
  }

  #ledger(): MaintenanceBudget {
    const metadata = { name: budgetName, uid: this.uid, resourceVersion: String(this.#version) }
    const status = { nextToken: 1, slots: [], admissions: [...this.admissions] }
    return { metadata, status } as unknown as MaintenanceBudget
  }

  readonly #client = {
    get: async () => this.#ledger(),
    list: (_: unknown, { labelSelector }: { readonly labelSelector?: string }) => {
      this.lists.push(labelSelector ?? 'all')
      return pagesOf(this.live.filter(({ metadata }) => !labelSelector || metadata.labels?.[stateLabel]))
    },
    replace: async (_: unknown, budget: MaintenanceBudget) => {
      const hurry = this.beforeWrite
      this.beforeWrite = undefined
      hurry?.()
      if (budget.metadata.resourceVersion !== String(this.#version))
        throw new ApiError({ code: 'Conflict', method: 'PUT', path: 'ledger', seen: 'in memory' })
      this.writes++
      this.somebodyElse(budget.status?.admissions ?? [])
      return this.#ledger()
    },
  } as unknown as KubeClient
}

async function* pagesOf(items: readonly NodeObject[]) {
  yield { items }
}

const first = (...nodes: string[]) => `other nodes were first: ${nodes.join(', ')}; room (maxMaintenance) says no now`

const names = (room: Room) => room.admissions.map(({ node }) => node)

test('of all who ask at once as many get in as there is room for, in one write', async () => {
  const room = new Room()
  room.nodes = ['a', 'b', 'c', 'd'].map((name) => versioned(name, 5))
  const admissions = room.open()
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => room.ask(admissions, name, 2)))
  expect(answers).toEqual([undefined, undefined, first('a', 'b'), first('a', 'b')])
  expect([names(room), room.writes]).toEqual([['a', 'b'], 1])
  // Who has it asks again without a write, as after a write to its node that was lost.
  expect(await room.ask(admissions, 'a', 2)).toBeUndefined()
  expect(room.writes).toBe(1)
})

test('who was faster counts: the ledger is read again, and there is no room left', async () => {
  const room = new Room()
  room.nodes = [versioned('a', 5), versioned('b', 5)]
  room.beforeWrite = () => room.somebodyElse([entry('b')])
  expect(await room.ask(room.open(), 'a', 1)).toBe(first('b'))
  expect(names(room)).toEqual(['b'])
})

test('a node that is in maintenance counts, though this view has not seen it yet', async () => {
  const room = new Room()
  room.nodes = [versioned('a', 5), versioned('b', 5)]
  room.live = [versioned('b', 6, { labels: { [stateLabel]: 'in-maintenance' } })]
  expect(await room.ask(room.open(), 'a', 1)).toBe(first('b'))
  room.live = [versioned('new', 1, { labels: { [stateLabel]: 'in-maintenance' } })]
  expect(await room.ask(room.open(), 'a', 1)).toBe(first('new'))
})

test('who is refused does not take away what somebody else wrote for the same node', async () => {
  const room = new Room()
  room.nodes = [versioned('a', 5), versioned('b', 5, inside)]
  room.admissions = [entry('a')]
  expect(await room.ask(room.open(), 'a', 1)).toBe(first('b'))
  expect(names(room)).toEqual(['a'])
})

test('an admission is moved to a newer version of its node, and never to an older one', async () => {
  const room = new Room()
  room.nodes = [versioned('a', 7)]
  room.admissions = [entry('a', { nodeVersion: '7' })]
  room.nodes = [versioned('a', 6)]
  expect(await room.ask(room.open(), 'a', 1)).toBeUndefined()
  expect(room.admissions[0]?.nodeVersion).toBe('7')
  room.nodes = [versioned('a', 8)]
  expect(await room.ask(room.open(), 'a', 1)).toBeUndefined()
  expect(room.admissions[0]?.nodeVersion).toBe('8')
})

const underWay = {
  labels: { [profileLabel]: 'p' },
  annotations: {
    [progressAnnotation]: JSON.stringify({
      inFlight: {
        p: {
          from: 'operational',
          next: 'in-maintenance',
          check: 'go',
          triggers: [],
          trigger: 0,
          since: new Date(noon).toISOString(),
        },
      },
    }),
  },
}
const inside = { labels: { [profileLabel]: 'p' }, profiles: { p: { state: 'in-maintenance' } } } as const

test.for<[string, NodeObject | undefined, number, boolean]>([
  ['the node is still in the version in which it was let in', versioned('a', 5), 0, true],
  ['the view is older than that, and shows the last time', versioned('a', 4, inside), 0, true],
  ['it is on its way', versioned('a', 6, underWay), 3_600_000, true],
  ['it is in maintenance', versioned('a', 6, inside), 0, false],
  ['it changed otherwise, so that what was to bring it in is refused', versioned('a', 6), 0, false],
  ['whoever let it in died long ago', versioned('a', 5), 600_000, false],
  ['the node may be so new that it is not seen yet', undefined, 0, true],
  ['the node is gone', undefined, 60_000, false],
])('an admission when %s', async ([, node, laterMs, isKept]) => {
  const room = new Room()
  room.admissions = [entry('a')]
  room.nodes = node ? [node] : []
  await room.clock.advance(laterMs)
  await room.open().tidy()
  expect(names(room)).toEqual(isKept ? ['a'] : [])
  expect(room.writes).toBe(isKept ? 0 : 1)
})

describe('a ledger that somebody deleted comes back empty', () => {
  const anew = (room: Room) => {
    room.uid = 'another'
    room.somebodyElse([])
  }

  test('and who is on the way counts all the same', async () => {
    const room = new Room()
    room.nodes = [versioned('a', 5), versioned('b', 6, underWay)]
    expect(await room.ask(room.open(), 'a', 1)).toBe(first('b'))
  })

  test('and who is on the way is in it again, also if the view is behind', async () => {
    const room = new Room()
    room.nodes = [versioned('a', 5), versioned('b', 5)]
    room.live = [versioned('b', 6, underWay)]
    const admissions = room.open()
    expect(await room.ask(admissions, 'a', 1)).toBe(first('b'))
    expect(room.admissions).toMatchObject([{ node: 'b', nodeVersion: '6', profile: 'p' }])
    expect(await room.ask(admissions, 'a', 1)).toBe(first('b'))
    // All nodes are read once for each ledger.
    expect(room.lists.filter((each) => each === 'all')).toHaveLength(1)
    anew(room)
    expect(await room.ask(admissions, 'a', 1)).toBe(first('b'))
    expect(room.lists.filter((each) => each === 'all')).toHaveLength(2)
  })

  test('and who was let in a moment ago, and is not written yet, counts', async () => {
    const room = new Room()
    room.nodes = [versioned('a', 5), versioned('b', 5)]
    const admissions = room.open()
    expect(await room.ask(admissions, 'b', 1)).toBeUndefined()
    anew(room)
    expect(await room.ask(admissions, 'a', 1)).toBe(first('b'))
    expect(names(room)).toEqual(['b'])
  })

  test('and a long drain on a node that nobody changes is not forgotten', async () => {
    const room = new Room()
    room.nodes = [versioned('a', 5), versioned('b', 6, underWay)]
    room.admissions = [entry('b', { nodeVersion: '6' })]
    await room.clock.advance(3_600_000)
    await room.open().tidy()
    expect(names(room)).toEqual(['b'])
  })
})

test('without a ledger nobody gets in', async () => {
  const room = new Room()
  room.hasLedger = false
  room.nodes = [versioned('a', 5)]
  expect(await room.ask(room.open(), 'a', 1)).toBe('the ledger is not there yet')
})

test('a seat that is given up is free for others at once, and leaves the ledger; who asks later has it again', async () => {
  const room = new Room()
  room.nodes = ['a', 'b'].map((name) => versioned(name, 5))
  const admissions = room.open()
  expect(await room.ask(admissions, 'a', 1)).toBeUndefined()
  admissions.giveUp('uid-a')
  await admissions.tidy()
  expect(names(room)).toEqual([])
  expect(await room.ask(admissions, 'b', 1)).toBeUndefined()
  admissions.giveUp('uid-b')
  await room.clock.advance(1)
  expect(await room.ask(admissions, 'a', 1)).toBeUndefined()
  expect(names(room)).toEqual(['a'])
  await admissions.tidy()
  expect(names(room)).toEqual(['a'])
})

test('a dry run lets in no more than a real one would, needs no ledger and writes nothing', async () => {
  const room = new Room()
  room.hasLedger = false
  room.nodes = ['a', 'b'].map((name) => versioned(name, 5))
  const admissions = room.open({ isDryRun: true })
  expect(await room.ask(admissions, 'a', 1)).toBeUndefined()
  expect(await room.ask(admissions, 'b', 1)).toMatch(/./)
  // At the next look it is still the same one.
  expect(await room.ask(admissions, 'a', 1)).toBeUndefined()
  // Somebody changed it: it is asked anew, like everybody.
  room.nodes = [versioned('a', 6), versioned('b', 5)]
  expect(await room.ask(admissions, 'b', 1)).toBeUndefined()
  expect(room.writes).toBe(0)
})
