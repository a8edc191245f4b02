import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { whatToReturn } from './node-return.ts'

const granted: MaintenanceRequestStatus = {
  phase: 'Granted',
  slot: { ledgerUID: 'ledger', token: 1, takenAt: '2026-03-01T10:00:00Z' },
}

function request(
  name: string,
  requestedBy: string | undefined,
  { status = granted, ...spec }: Partial<MaintenanceRequest['spec']> & { status?: MaintenanceRequestStatus } = {},
): MaintenanceRequest {
  return {
    metadata: { name, uid: name },
    spec: {
      nodeName: 'node-7',
      nodeUID: 'n',
      source: { kind: 'Person', key: `key-of-${name}` },
      ...(requestedBy === undefined ? {} : { requestedBy }),
      reason: `reason of ${name}`,
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...spec,
    },
    status,
  }
}

const alice = request('a', 'alice')
const bob = request('b', 'bob')
const queued: MaintenanceRequestStatus = { phase: 'Queued' }

const returned = (all: readonly MaintenanceRequest[], caller?: string, named?: string) =>
  whatToReturn(all, 'node-7', caller, named).requests.map(({ metadata }) => metadata.name)

describe('of a node that several people have', () => {
  test.for<readonly [string, readonly MaintenanceRequest[]]>([
    ['somebody else', [alice, bob]],
    ["somebody else's reboot", [alice, request('b', 'bob', { work: 'Reboot' })]],
    ['somebody else who still waits', [alice, request('b', 'bob', { status: queued })]],
    ['somebody whom nobody knows', [alice, request('b', undefined)]],
  ])('only the own part is returned, and not that of %s', ([, all]) => {
    expect(returned(all, 'alice')).toEqual(['a'])
  })

  test('everything of the caller is returned', () => {
    expect(returned([alice, bob, request('a2', 'alice', { work: 'Reboot' })], 'alice')).toEqual(['a', 'a2'])
  })

  test('it is said who keeps the node out', () => {
    const agent = request('r', undefined, { source: { kind: 'Reboot', key: '/run/reboot' } })
    expect(whatToReturn([alice, bob, agent], 'node-7', 'alice').remark).toBe(
      'node-7 stays out of service: bob, Granted [reason of b] (b), Reboot /run/reboot, Granted [reason of r] (r)',
    )
  })

  test.for<readonly [string, MaintenanceRequest]>([
    ['still waits', request('b', 'bob', { status: queued })],
    ['gives it back too', request('b', 'bob', { status: { ...granted, phase: 'Finishing' } })],
    ['has said so just now', request('b', 'bob', { want: 'Return' })],
    ['has another node', request('b', 'bob', { nodeName: 'node-8' })],
  ])('nobody keeps it out who %s', ([, other]) => {
    expect(whatToReturn([alice, other], 'node-7', 'alice')).toEqual({ requests: [alice] })
  })
})

describe('when nothing is known to be of the caller', () => {
  test("others' work is not ended, but named with what to write", () => {
    expect(() => returned([bob, request('c', undefined)], 'alice')).toThrowErrorMatchingInlineSnapshot(`
      [Error: what people have asked for on node-7 is not known to be yours; to end one all the same, name it:
        fettle node return node-7 --request b  # bob, Granted [reason of b]
        fettle node return node-7 --request c  # key-of-c, Granted [reason of c]]
    `)
  })

  test.for<readonly [string, MaintenanceRequest, string | undefined]>([
    ['by somebody else', bob, 'alice'],
    ['by somebody while the caller is unknown', bob, undefined],
  ])('the only request is not ended if it was made %s', ([, only, caller]) => {
    expect(() => returned([only], caller)).toThrow('fettle node return node-7 --request b')
  })

  test('the only request is ended if nobody knows who made it', () => {
    expect(returned([request('c', undefined)], 'alice')).toEqual(['c'])
    expect(returned([request('c', undefined)])).toEqual(['c'])
    expect(() => returned([request('c', undefined), request('d', undefined)])).toThrow('--request d')
  })

  test('a node that no person asks for is told apart', () => {
    const agent = request('r', undefined, { source: { kind: 'Reboot', key: '/run/reboot' } })
    expect(() => returned([agent], 'alice')).toThrow(/^nobody has asked for node-7/)
  })
})

describe('a request that is named', () => {
  test("is confirmed first when it is somebody else's", () => {
    expect(whatToReturn([alice, bob], 'node-7', 'alice', 'b')).toEqual({
      requests: [bob],
      remark: 'node-7 stays out of service: alice, Granted [reason of a] (a)',
      toConfirm:
        'b was asked for by bob, Granted [reason of b]: its work counts as done, also if somebody is still at it.',
    })
    expect(whatToReturn([alice], 'node-7', 'alice', 'a')).toEqual({ requests: [alice] })
  })

  test('has to be one of this node', () => {
    expect(() => returned([alice], 'alice', 'b')).toThrow(/^b is no open request of a person for node-7; these are:/)
  })
})
