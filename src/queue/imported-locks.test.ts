import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import { node, noon, request } from './fixture-world.ts'
import { foreignLock } from './foreign-locks.ts'
import { decideTakeOvers, importedRequest, isAskedByLock, isImportOf, wasUnschedulable } from './imported-locks.ts'
import type { SeenLock } from './lock-places.ts'

const created = '2026-03-01T11:00:00.123456789Z'
const entry = { nodeID: 'a', metadata: { unschedulable: false }, created, TTL: 0 }
const nowMs = Date.parse(noon)

function lock(more: Partial<SeenLock> = {}, ...entries: object[]): SeenLock {
  return {
    program: 'Kustodian',
    namespace: 'kube-system',
    name: 'kustodian',
    annotation: 'k8s.io/kustodian-node-lock',
    hold: false,
    takeOver: true,
    text: JSON.stringify(entries.length === 1 ? entries[0] : { maxOwners: 9, locks: entries }),
    ...more,
  }
}

const decide = (locks: readonly SeenLock[], ...requests: MaintenanceRequest[]) =>
  decideTakeOvers(
    locks,
    (name) => (name === 'a' || name === 'b' ? node(name) : undefined),
    (name) => requests.find(({ metadata }) => metadata.name === name),
    nowMs,
  )
const imported = importedRequest(lock({}, entry), entry, node('a'))
const inPhase = (phase: 'Queued' | 'Done'): MaintenanceRequest => ({ ...imported, status: { phase } })

describe('a maintenance that another program has begun', () => {
  test('of Kustodian becomes work of the host', () => {
    expect(decide([lock({}, entry)])).toEqual({ make: [imported], over: [] })
    expect(imported).toMatchObject({
      metadata: { name: expect.stringMatching(/^a-imported-[0-9a-f]{5}$/), finalizers: ['fettle.dev/give-back'] },
      spec: {
        nodeName: 'a',
        nodeUID: 'uid-a',
        source: { kind: 'Imported', key: 'Kustodian kube-system/kustodian' },
        reason: `taken over: it holds the lock of Kustodian on DaemonSet kube-system/kustodian since ${created}`,
        work: 'Host',
      },
    })
  })

  test('of kured waits for a person', () => {
    const { spec } = importedRequest(lock({ program: 'Kured' }, entry), entry, node('a'))
    expect(spec.work).toBe('External')
  })

  test('is taken over once, and its lock goes when it is done', () => {
    expect(decide([lock({}, entry)], inPhase('Queued'))).toEqual({ make: [], over: [] })
    const held = lock({}, entry)
    expect(decide([held], inPhase('Done'))).toEqual({ make: [], over: [{ lock: held, request: inPhase('Done') }] })
  })

  test('of which only the lock is new is a new one', () => {
    const again = { ...entry, created: '2026-03-02T11:00:00Z' }
    expect(decide([lock({}, again)], inPhase('Done')).make).toHaveLength(1)
    expect(isImportOf(imported, lock({}, again), again)).toBe(false)
  })

  test.for([
    ['nobody wants it', lock({ takeOver: false }, entry)],
    ['we hold the lock', lock({}, { ...entry, nodeID: 'fettle/a' })],
    ['its time is over', lock({}, { ...entry, TTL: 1 })],
    ['no node has that name', lock({}, { ...entry, nodeID: 'c' })],
    ['it cannot be read', lock({ text: '{' })],
    ['nobody holds it', lock({ text: undefined })],
  ] as const)('is not taken over when %s', ([, held]) => {
    expect(decide([held])).toEqual({ make: [], over: [] })
  })

  test('each of several is one', () => {
    const names = decide([lock({}, entry, { ...entry, nodeID: 'b' })]).make.map(({ spec }) => spec.nodeName)
    expect(names).toEqual(['a', 'b'])
  })
})

describe('the lock of a maintenance that was taken over', () => {
  const annotations = { 'k8s.io/kustodian-node-lock': JSON.stringify(entry) }
  const daemonSets = [{ metadata: { namespace: 'kube-system', name: 'kustodian', annotations } }]
  const entries = [{ program: 'Kustodian', namespace: 'kube-system', hold: false, takeOver: true } as const]
  const gate = foreignLock(daemonSets, nowMs, { spec: { foreignLocks: entries } })

  test('is not in its own way, only in that of others', () => {
    expect(gate?.(imported)).toBeUndefined()
    expect(gate?.(request('r', 'a'))).toContain('node a holds the lock')
    expect(gate?.(request('r', 'b'))).toContain('node a holds the lock')
    const forged = { ...imported, spec: { ...imported.spec, source: { kind: 'Person', key: 'x' } as const } }
    expect(gate?.(forged)).toContain('node a holds the lock')
  })

  test('keeps its request until it is gone', () => {
    expect(isAskedByLock(inPhase('Done'), [lock({}, entry)])).toBe(true)
    expect(isAskedByLock(inPhase('Done'), [lock({ text: undefined })])).toBe(false)
    expect(isAskedByLock(inPhase('Done'), [lock({ takeOver: false }, entry)])).toBe(false)
  })
})

test.for([
  [{ unschedulable: false }, false],
  [{ unschedulable: true }, true],
  [undefined, false],
  ['odd', false],
] as const)('with %j in the lock, the node was unschedulable before: %s', ([metadata, expected]) => {
  const held = { ...entry, metadata }
  expect(wasUnschedulable(importedRequest(lock({}, held), held, node('a')))).toBe(expected)
})

test('of other requests only the node itself tells what it was before', () => {
  expect(wasUnschedulable(request('r', 'a', { metadata: { annotations: imported.metadata.annotations ?? {} } }))).toBe(
    undefined,
  )
})
