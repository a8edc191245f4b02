import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, Phase } from '../../src/api/index.ts'
import type { NodeObject } from '../../src/kube/index.ts'
import { MomentJudge } from '../load/moment-judge.ts'

// A judge that finds nothing because it looks at nothing would be worse than none.
describe('the judge of moments', () => {
  const slot = (node: string, token: number, requests = [`r-${node}`]) => ({
    node,
    nodeUID: `uid-${node}`,
    token,
    takenAt: '2026-01-01T00:00:00Z',
    requests,
  })
  const ledger = (resourceVersion: string, slots: readonly object[], spec: object = { max: 1 }) =>
    ({ metadata: { name: 'cluster', resourceVersion }, spec, status: { slots, nextToken: 99 } }) as MaintenanceBudget
  const request = (resourceVersion: string, node: string, phase: Phase, token = 1) =>
    ({
      metadata: { name: `r-${node}`, resourceVersion },
      spec: { nodeName: node, nodeUID: `uid-${node}` },
      status: { phase, slot: { token, ledgerUID: 'l', takenAt: '' } },
    }) as MaintenanceRequest
  const node = (resourceVersion: string, name: string, token?: number) =>
    ({
      metadata: {
        name,
        uid: `uid-${name}`,
        resourceVersion,
        annotations:
          token === undefined
            ? {}
            : { 'cordon.fettle.dev/queue': JSON.stringify({ request: 'r', token, since: '2026-01-01T00:00:00Z' }) },
      },
    }) as NodeObject
  type Told = MaintenanceBudget | MaintenanceRequest | NodeObject
  const judged = (...told: readonly Told[]) => {
    const judge = new MomentJudge(new Map(['a', 'b', 'c'].map((name) => [name, name === 'c' ? 'z1' : 'z0'])))
    for (const object of told) {
      if ('status' in object && object.status && 'slots' in object.status)
        judge.noteLedger(object as MaintenanceBudget, false)
      else if (object.spec && 'nodeName' in object.spec) judge.noteRequest(object as MaintenanceRequest, false)
      else judge.noteNode(object as NodeObject, false)
    }
    return judge.takeLastProblems().map((problem) => problem.split(';')[0])
  }

  test.for<readonly [string, readonly Told[], readonly string[]]>([
    [
      'a turn as it should be, told by one watch after the other',
      [
        request('4', 'a', 'Granted'),
        request('6', 'a', 'Finishing'),
        node('3', 'a', 1),
        ledger('2', [slot('a', 1)]),
        ledger('7', []),
      ],
      [],
    ],
    ['work without a slot', [ledger('2', []), request('4', 'a', 'Granted')], ['r-a is Granted, and no slot lists it']],
    [
      'a reboot whose slot goes too early',
      [ledger('2', [slot('a', 1)]), request('3', 'a', 'Rebooting'), ledger('4', []), request('5', 'a', 'Finishing')],
      ['r-a is Rebooting, and no slot lists it'],
    ],
    [
      'work that begins a moment before its slot is there',
      [ledger('3', [slot('a', 1)]), request('2', 'a', 'Granted')],
      ['r-a is Granted, and no slot lists it'],
    ],
    [
      'work by the number of an older turn',
      [ledger('2', [slot('a', 7)]), request('3', 'a', 'Granted', 6)],
      ["r-a is Granted on a with token 6, by another's slot"],
    ],
    [
      'more nodes at work than may be, though the slots allow it',
      [ledger('2', [slot('a', 1), slot('b', 2)]), request('3', 'a', 'Granted'), request('4', 'b', 'Granted', 2)],
      ['2 nodes are at work, 1 may be'],
    ],
    [
      'two nodes of one zone at work',
      [
        ledger('2', [slot('a', 1), slot('b', 2)], { max: 3, limits: [{ name: 'zones', groupBy: 'zone', max: 1 }] }),
        request('3', 'a', 'Granted'),
        request('4', 'b', 'Granted', 2),
      ],
      ['a zone has more nodes at work than the 1 that it may'],
    ],
    [
      'a cordon by a number that was given to another node',
      [ledger('2', [slot('b', 1)]), node('3', 'a', 1)],
      ['a is cordoned for token 1, which the ledger never gave to it'],
    ],
    ['a cordon that is put back after its turn', [ledger('2', [slot('a', 1)]), ledger('4', []), node('5', 'a', 1)], []],
  ])('%s', ([, told, expected]) => {
    expect(judged(...told)).toEqual(expected)
  })

  test('judges nothing before every watch has told of it', () => {
    const judge = new MomentJudge(new Map())
    judge.noteRequest(request('5', 'a', 'Granted'), false)
    judge.noteNode(node('6', 'a'), false)
    judge.noteLedger(ledger('2', []), false)
    expect(judge.takeProblems()).toEqual([])
    judge.noteLedger(ledger('4', [slot('a', 1)]), false)
    judge.noteLedger(ledger('6', [slot('a', 1)]), false)
    expect(judge.takeProblems()).toEqual([])
    expect(judge.takeLastProblems()).toEqual([])
  })
})
