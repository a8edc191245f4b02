import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { runbooks } from '../../scripts/generate/runbooks.ts'
import { type HeldReason, type MaintenanceRequest, verbAnnotations } from '../../src/api/index.ts'
import { budget, cordonedNode, heldSlot, noon, request, slot } from '../../src/queue/fixture-world.ts'
import { decideRequest, settingsOf } from '../../src/queue/index.ts'

/** Whether a retry reboots a machine is nothing that a page may be wrong about. */

const saysSo = 'The machine is rebooted again'
const pages = runbooks().filter(({ state }) => state === 'Held')

/** What the page says comes of `fettle node retry`. */
function retryRows(file: string): string {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/runbooks', file), 'utf8')
  return page
    .split('\n')
    .filter((line) => line.startsWith('|') && line.includes('fettle node retry'))
    .join('\n')
}

/** A reboot that took place, and stopped in the proof: whether the word of a person orders another one. */
function rebootsAgain(reason: HeldReason): boolean {
  const one: MaintenanceRequest = request('r', 'a', {
    metadata: { annotations: { [verbAnnotations.verb]: 'retry' } },
    spec: { work: 'Reboot' },
    status: {
      phase: 'Held',
      held: { from: 'Rebooting', reason, message: 'it stopped' },
      slot: heldSlot(3),
      reboots: { count: 1, bootIDBefore: 'old' },
      host: { request: 'Present', permission: 'Absent', bootID: 'new', rebootIntent: { token: 3, fromBootID: 'old' } },
    },
  })
  const step = decideRequest({
    request: one,
    requests: [one],
    settings: settingsOf(one, budget().spec),
    ledgerUID: 'uid-ledger',
    isExclusivityBroken: false,
    slot: slot('a', 3, 'r'),
    node: cordonedNode('a', { bootID: 'new' }),
    podsOnNode: [],
    budgets: [],
    waiting: undefined,
    now: noon,
  })
  // Only who is Granted may order a reboot out of a boot that it has not announced yet.
  return step.do === 'writeStatus' && step.status.phase === 'Granted'
}

test.each(pages)(
  '$file tells what a retry does, and whether it reboots a machine that has rebooted',
  ({ reason, file }) => {
    const rows = retryRows(file)
    expect(rows).not.toBe('')
    expect(rows.includes(saysSo)).toBe(rebootsAgain(reason as HeldReason))
  },
)

test('a retry reboots a machine again that still asks for it, and no other one', () => {
  expect(pages.map(({ reason }) => reason).filter((reason) => rebootsAgain(reason as HeldReason))).toEqual([
    'StillRequired',
  ])
})
