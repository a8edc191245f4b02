import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus, RequestVerb } from '../api/index.ts'
import { type Journey, untilGranted, untilRebooted, untilReturned } from './follow-request.ts'
import { findRequest, journeyOf, whatHappens } from './node-verb.ts'

function request(name: string, status?: MaintenanceRequestStatus, spec: object = {}): MaintenanceRequest {
  return {
    metadata: { name, uid: name },
    spec: {
      nodeName: 'node-7',
      nodeUID: 'n',
      source: { kind: 'Person', key: 'jdoe' },
      reason: `reason of ${name}`,
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...spec,
    },
    ...(status ? { status } : {}),
  }
}

const held = (from: 'Claimed' | 'Granted' | 'Finishing' | 'Rebooting'): MaintenanceRequestStatus => ({
  phase: 'Held',
  held: { from, reason: 'WorkDeadline', message: 'the work took longer than 2h' },
})

const requeue = { count: 1, notBefore: '2026-03-01T10:10:00Z', isPending: false }

const all = [
  request('stuck', held('Granted')),
  request('works', { phase: 'Granted' }),
  request('over', { phase: 'Done', outcome: 'Completed' }),
  request('lonely', { phase: 'Granted' }, { nodeName: 'node-8' }),
  request('again', { phase: 'Queued', requeue }, { nodeName: 'node-6' }),
  request('one', { phase: 'Queued' }, { nodeName: 'node-9' }),
  request('two', undefined, { nodeName: 'node-9' }),
]

describe('which request is meant', () => {
  const found = (name: string, verb: RequestVerb = 'release') => {
    try {
      return findRequest(all, name, verb).metadata.name
    } catch (error) {
      return (error as Error).message
    }
  }

  test.for<readonly [string, RequestVerb, string]>([
    ['works', 'release', 'works'],
    ['node-7', 'release', 'stuck'],
    ['node-7', 'retry', 'stuck'],
    ['stuck', 'retry', 'stuck'],
    ['node-8', 'abort', 'lonely'],
    ['node-6', 'retry', 'again'],
    ['over', 'skip', 'over is over already: Completed; there is nothing to skip'],
    [
      'works',
      'retry',
      'node-7: drained; the work may begin; only a request that is held, or waits after a drain, can be retried',
    ],
    ['node-8', 'retry', 'no request for node-8 is held; `fettle explain node-8` tells where they are'],
    [
      'node-1',
      'release',
      'node-1 is neither a request nor a node that anybody asks for; `fettle queue` shows who asks for what',
    ],
  ])('%s, to %s: %s', ([name, verb, answer]) => {
    expect(found(name, verb)).toBe(answer)
  })

  test('several are listed', () => {
    expect(found('node-9')).toMatchInlineSnapshot(`
      "2 requests for node-9 come into question; name one of them:
        one  Queued  [reason of one]
        two  New  [reason of two]"
    `)
  })
})

test('what happens is said before it does', () => {
  expect(whatHappens(request('stuck', held('Granted')), 'skip')).toMatchInlineSnapshot(
    `"stuck [reason of stuck] is Held. It ends as Skipped, and node-7 takes pods again: nobody checks whether work on it has ended, or whether it is well."`,
  )
  expect(whatHappens(request('new'), 'abort')).toMatchInlineSnapshot(
    `"new [reason of new] leaves the line; it ends as Aborted."`,
  )
})

test.for<readonly [Parameters<typeof held>[0], 'External' | 'Reboot', Journey]>([
  ['Claimed', 'External', untilGranted],
  ['Granted', 'External', untilGranted],
  ['Finishing', 'External', untilReturned],
  ['Rebooting', 'Reboot', untilRebooted],
  ['Claimed', 'Reboot', untilRebooted],
  ['Finishing', 'Reboot', untilRebooted],
])('held in %s with work %s, a retry is followed until %o', ([from, work, journey]) => {
  expect(journeyOf(request('r', held(from), { work }), 'retry')).toBe(journey)
})

test.for([
  ['release', 'Released'],
  ['skip', 'Skipped'],
  ['abort', 'Aborted'],
] as const)('%s is followed until it has ended as %s, and no other end will do', ([verb, outcome]) => {
  expect(journeyOf(request('r', held('Granted')), verb)).toEqual({ goal: 'Done', outcomes: [outcome] })
})
