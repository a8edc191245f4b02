import { describe, expect, test } from 'vitest'
import type { Waiting } from '../api/index.ts'
import { decideLedger, type LedgerWorld } from './decide-ledger.ts'
import { claimed, inMs, world } from './fixture-ledger.ts'
import { budget, node, noon, request, slot } from './fixture-world.ts'
import { type ClaimGates, openGates } from './obstacles.ts'

describe('whoever waits is told what for', () => {
  const gates = (more: Partial<ClaimGates>): Partial<LedgerWorld> => ({ gates: { ...openGates, ...more } })
  const closed = { isOpen: false, opensAtMs: Date.parse(inMs(60_000)) }
  const gone = budget({}, slot('b', 1, 'x'))
  const blocked = { message: 'pod shop/db-0 is here', next: 'kubectl get pods' }
  const spec = (more: Parameters<typeof request>[2]) => ({ requests: [request('r', 'a', more)] })

  test.for<readonly [string, Partial<LedgerWorld>, Omit<Waiting, 'since' | 'position'>]>([
    [
      'a view that is too old',
      gates({ staleView: 'the view of nodes is 90 s old' }),
      { for: 'StaleView', message: 'the view of nodes is 90 s old', next: 'fettle status' },
    ],
    [
      'a budget that is being deleted',
      { budget: { ...budget(), metadata: { name: 'cluster', deletionTimestamp: noon } } },
      {
        for: 'Budget',
        message: 'MaintenanceBudget cluster is being deleted; it comes back with its defaults once no slot is held',
        next: 'fettle lock',
      },
    ],
    [
      'a freeze',
      gates({ freeze: { message: 'MaintenanceFreeze launch stops all claims' } }),
      { for: 'Freeze', message: 'MaintenanceFreeze launch stops all claims', next: 'fettle thaw' },
    ],
    [
      'a freeze with an end',
      gates({ freeze: { message: 'frozen', untilMs: Date.parse(inMs(5_000)) } }),
      { for: 'Freeze', message: 'frozen', next: 'fettle thaw', notBefore: inMs(5_000) },
    ],
    [
      'the lock of another program',
      gates({ foreignLock: () => 'node n1 holds the lock of kured' }),
      { for: 'ForeignLock', message: 'node n1 holds the lock of kured', next: 'kubectl get daemonset -A' },
    ],
    [
      'a file that its node cannot read',
      spec({ status: { phase: 'Queued', host: { request: 'Unreadable' } } }),
      { for: 'StaleView', message: 'a cannot read the file that asks for this', next: 'fettle explain r' },
    ],
    [
      'its next try',
      spec({ status: { phase: 'Queued', requeue: { count: 2, notBefore: inMs(600_000), isPending: false } } }),
      {
        for: 'Backoff',
        message: 'its drain took too long 2 times; it is tried again from 2026-03-01 12:10 UTC',
        next: 'fettle node retry r',
        notBefore: inMs(600_000),
      },
    ],
    [
      'its window',
      { ...gates({ windowOf: () => closed }), ...spec({ spec: { windows: ['night'] } }) },
      {
        for: 'Window',
        message: 'window night is closed and opens at 2026-03-01 12:01 UTC',
        next: 'fettle windows night',
        notBefore: inMs(60_000),
      },
    ],
    [
      'windows that never open again',
      { ...gates({ windowOf: () => ({ isOpen: false }) }), ...spec({ spec: { windows: ['x', 'y'] } }) },
      { for: 'Window', message: 'windows x, y are closed and do not open again', next: 'fettle windows x' },
    ],
    [
      'a window that cannot be read',
      { ...gates({ windowOf: () => ({ isOpen: false, problem: 'window x does not exist' }) }), ...spec({}) },
      { for: 'Window', message: 'window x does not exist', next: 'fettle windows' },
    ],
    [
      'a place',
      { budget: gone },
      {
        for: 'Budget',
        message: '1 of 3 nodes may be out: b is out since 2026-03-01 11:00 UTC',
        next: 'fettle explain b',
      },
    ],
    [
      'a node that is down',
      { nodes: [node('a'), node('b', { isReady: false })] },
      {
        for: 'Budget',
        message: '1 of 2 nodes may be out: b is NotReady, without a slot',
        next: 'fettle explain b',
      },
    ],
    [
      'a blocker',
      gates({ blockerOf: () => blocked }),
      { for: 'Blocker', message: 'pod shop/db-0 is here', next: 'kubectl get pods' },
    ],
    [
      'the answer of a blocker',
      gates({ blockerOf: () => 'unasked' }),
      { for: 'Blocker', message: 'its blockers are being asked', next: 'fettle queue' },
    ],
    [
      'a slot without a request',
      { budget: budget({}, slot('a', 1)) },
      { for: 'Order', message: 'a has a slot without a request', next: 'fettle lock release a' },
    ],
  ])('%s', ([, parts, waiting]) => {
    const decision = decideLedger(world({ requests: [request('r', 'a')], ...parts }))
    expect(decision.claims).toEqual([])
    expect(decision.waiting.get('r')).toEqual({ position: 1, ...waiting })
    expect(decision.wakeAtMs).toBe(waiting.notBefore === undefined ? undefined : Date.parse(waiting.notBefore))
  })

  test('of several reasons the one that a person has to know first', () => {
    const all = { staleView: 'old', freeze: { message: 'frozen' }, foreignLock: () => 'kured', windowOf: () => closed }
    const told = (more: Partial<ClaimGates>) =>
      decideLedger(
        world({ budget: gone, requests: [request('r', 'a')], gates: { ...openGates, ...more } }),
      ).waiting.get('r')?.for
    expect(told(all)).toBe('StaleView')
    const { staleView: _, ...warm } = all
    expect(told(warm)).toBe('Freeze')
    const { freeze: __, ...thawed } = warm
    expect(told(thawed)).toBe('ForeignLock')
    expect(told({ windowOf: () => closed })).toBe('Window')
    expect(told({ blockerOf: () => blocked })).toBe('Budget')
  })

  test('only whose turn it would be is asked about; the others are not', () => {
    const asked: string[] = []
    const blockerOf: ClaimGates['blockerOf'] = (_, { metadata }) => {
      asked.push(metadata.name ?? '')
      return 'unasked'
    }
    const requests = [request('r1', 'a'), request('r2', 'b'), request('r3', 'c', { spec: { windows: ['night'] } })]
    const windowOf = (names: readonly string[]) => ({ isOpen: names.length === 0 })
    const decision = decideLedger(world({ budget: gone, requests, gates: { ...openGates, blockerOf, windowOf } }))
    expect(decision.unasked.map(({ metadata }) => metadata.name)).toEqual([])
    const free = decideLedger(
      world({ budget: budget({ max: 2 }), requests, gates: { ...openGates, blockerOf, windowOf } }),
    )
    expect(free.unasked.map(({ metadata }) => metadata.name)).toEqual(['r1', 'r2'])
    expect(asked).toEqual(['r1', 'r2'])
  })

  test('who is being asked about keeps its place, and nobody of the same node goes without being asked', () => {
    const blockerOf = () => 'unasked' as const
    const requests = [request('r1', 'a'), request('r2', 'a'), request('r3', 'b')]
    const decision = decideLedger(world({ requests, gates: { ...openGates, blockerOf } }))
    expect(decision.claims).toEqual([])
    expect(decision.unasked.map(({ metadata }) => metadata.name)).toEqual(['r1', 'r2'])
    expect(decision.waiting.get('r3')?.for).toBe('Budget')
    expect(decision.next.slots).toEqual([])
  })

  test('who is blocked takes no place: the next one goes', () => {
    const blockerOf: ClaimGates['blockerOf'] = ({ metadata }) => (metadata.name === 'a' ? blocked : undefined)
    const requests = [request('r1', 'a'), request('r2', 'b')]
    expect(claimed({ requests, gates: { ...openGates, blockerOf } })).toEqual(['r2'])
  })

  test('a window may be passed by with a reason, a freeze may not', () => {
    const requests = [request('r', 'a', { spec: { windows: ['night'], bypassWindow: 'it burns' } })]
    expect(claimed({ requests, ...gates({ windowOf: () => closed }) })).toEqual(['r'])
    expect(claimed({ requests, ...gates({ freeze: { message: 'frozen' } }) })).toEqual([])
  })

  test("without windows of its own the budget's hold", () => {
    const windowOf = (names: readonly string[]) => ({ isOpen: names[0] !== 'night' })
    const nightly = budget({ defaults: { windows: ['night'] } })
    expect(claimed({ budget: nightly, requests: [request('r', 'a')], ...gates({ windowOf }) })).toEqual([])
    const own = [request('r', 'a', { spec: { windows: ['day'] } })]
    expect(claimed({ budget: nightly, requests: own, ...gates({ windowOf }) })).toEqual(['r'])
  })

  test('a wait that is over does not stop it', () => {
    const requeue = { count: 1, notBefore: noon, isPending: false }
    expect(claimed({ requests: [request('r', 'a', { status: { phase: 'Queued', requeue } })] })).toEqual(['r'])
  })
})

describe('while the lock of another program is held with a node', () => {
  const foreignLocks = [{ program: 'Kured', namespace: 'kube-system', hold: true, takeOver: false } as const]
  const both = [request('r', 'a'), request('s', 'b')]

  test('one goes at a time, whatever the budget says, and who waits hears why', () => {
    const decision = decideLedger(world({ budget: budget({ max: '100%', foreignLocks }), requests: both }))
    expect(decision.claims.map(({ node }) => node)).toEqual(['a'])
    expect(decision.waiting.get('s')?.message).toContain('may be out while the lock of another program is held with it')
  })

  test('0 still stops everybody', () => {
    expect(decideLedger(world({ budget: budget({ max: 0, foreignLocks }), requests: both })).claims).toEqual([])
  })

  test('and without it as many as the budget says', () => {
    const only = foreignLocks.map((lock) => ({ ...lock, hold: false }))
    const decision = decideLedger(world({ budget: budget({ max: 2, foreignLocks: only }), requests: both }))
    expect(decision.claims).toHaveLength(2)
  })
})
