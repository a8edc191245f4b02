import { describe, expect, it } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import { type AgentWorld, decideAgent, isAtWork } from './decide-agent.ts'
import { reportOn } from './decide-report.ts'
import { node, permission, present, rebootNeeded, rebootSpec, request, slot, world } from './fixture-world.ts'

/** What happens once everything that can be reported has been. */
function act(start: AgentWorld): ReturnType<typeof decideAgent> {
  let now = start
  for (let rounds = 0; rounds < 5; rounds++) {
    const next = decideAgent(now)
    if (next.do !== 'report') return next
    const requests = now.requests.map((one) =>
      one.metadata.uid === next.request.metadata.uid
        ? { ...one, status: { ...one.status, phase: one.status?.phase ?? 'Queued', host: next.host } }
        : one,
    )
    now = { ...now, requests }
  }
  throw new Error('it reports without end')
}

const granted = (more: object = {}) => request('n1-file-0', { phase: 'Granted', slot: slot(), ...more })

describe('each row of the truth table', () => {
  it('nothing asks, nothing is there: nothing is done', () => {
    expect(act(world())).toMatchObject({ do: 'nothing' })
  })

  it('a file asks: a request is made', () => {
    expect(act(world({ request: present() }))).toEqual({
      do: 'create',
      name: 'n1-file-0',
      spec: {
        nodeName: 'n1',
        nodeUID: 'uid-n1',
        source: { kind: 'File', key: '/var/maintenance-required' },
        reason: 'the host asks by /var/maintenance-required',
        work: 'Host',
      },
    })
  })

  it('it is claimed and being drained: the agent waits', () => {
    const claimed = request('n1-file-0', { phase: 'Claimed', slot: slot() })
    expect(act(world({ request: present() }, [claimed]))).toMatchObject({ do: 'nothing' })
  })

  it('it is granted: the permission is written', () => {
    expect(act(world({ request: present() }, [granted()]))).toMatchObject({ do: 'writePermission', token: 5 })
  })

  it('it is granted and permitted: the agent waits for the script', () => {
    expect(act(world({ request: present(), permission: permission(), highestToken: 5 }, [granted()]))).toMatchObject({
      do: 'nothing',
    })
  })

  it('the script is done: the controller is told first, and the permission stays until it answers', () => {
    const seen = world({ permission: permission(), highestToken: 5 }, [granted()])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { request: 'Absent', permission: 'Present' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })

  it('it goes home: the permission is deleted', () => {
    const finishing = request('n1-file-0', { phase: 'Finishing', slot: slot() })
    expect(act(world({ permission: permission(), highestToken: 5 }, [finishing]))).toMatchObject({
      do: 'deletePermission',
    })
  })

  it('a permission that nobody stands for is deleted before the file is heard', () => {
    expect(act(world({ request: present(), permission: permission() }))).toMatchObject({ do: 'deletePermission' })
    expect(act(world({ request: present(), permission: { is: 'Present' } }))).toMatchObject({ do: 'deletePermission' })
  })
})

describe('without contact', () => {
  it.each([
    ['a file that asks', world({ request: present() })],
    ['a request that is granted', world({ request: present() }, [granted()])],
    ['a stale permission', world({ permission: permission() })],
    ['a need to reboot', world({ reboot: rebootNeeded })],
  ])('nothing is done about %s', (_what, seen) => {
    expect(decideAgent({ ...seen, hasContact: false })).toMatchObject({ do: 'nothing' })
  })
})

describe('what cannot be seen', () => {
  const broken = { is: 'Unreadable', why: 'EIO' } as const
  it('is never absence: the request is reported as unreadable, and nothing goes', () => {
    const seen = world({ request: broken, permission: permission(), highestToken: 5 }, [granted()])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { request: 'Unreadable', permission: 'Present' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })

  it('an unreadable permission keeps another from being written', () => {
    expect(act(world({ request: present(), permission: broken }, [granted()]))).toMatchObject({ do: 'nothing' })
  })

  it('a machine that forgot a token it obeyed for an open request has lost its disk: nothing is absent, nothing begins', () => {
    const before = granted({ host: { request: 'Present', permission: 'Present', tokens: { highest: 5 } } })
    const seen = world({ highestToken: 0 }, [before])
    expect(decideAgent(seen)).toMatchObject({ host: { request: 'Unreadable', permission: 'Unreadable' } })
    expect(act(world({ request: present(), highestToken: 0 }, [before]))).toMatchObject({ do: 'nothing' })
  })

  it('a machine that was set up anew may go on when only finished requests remember it', () => {
    const done = request('n1-file-0', { phase: 'Done', host: { tokens: { highest: 5 }, requestID: 'old' } })
    expect(act(world({ request: present(), highestToken: 0 }, [done]))).toMatchObject({
      do: 'create',
      name: 'n1-file-1',
    })
    const again = request('n1-file-1', { phase: 'Granted', slot: slot(4) })
    expect(act(world({ request: present(), highestToken: 0 }, [done, again])), 'a token of the past').toMatchObject({
      do: 'nothing',
    })
  })

  it('a store that cannot be read stops everything', () => {
    const seen = world({ request: present(), stateProblem: 'EIO' }, [granted()])
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })
})

describe('a permission', () => {
  it.each([
    ['not granted', { phase: 'Claimed' as const }],
    ['held', { phase: 'Held' as const }],
    ['rebooting', { phase: 'Rebooting' as const }],
  ])('is not written for a request that is %s', (_what, status) => {
    const one = request('n1-file-0', { slot: slot(), ...status })
    expect(act(world({ request: present() }, [one]))).not.toMatchObject({ do: 'writePermission' })
  })

  it('is not written with a token below the highest that was obeyed', () => {
    expect(act(world({ request: present(), highestToken: 6 }, [granted()]))).toMatchObject({ do: 'nothing' })
  })

  it('is not written when the file has gone, the request is wanted back or deleted', () => {
    expect(act(world({}, [granted()]))).toMatchObject({ do: 'nothing' })
    const back = request('n1-file-0', { phase: 'Granted', slot: slot() }, { want: 'Return' })
    expect(act(world({ request: present() }, [back]))).toMatchObject({ do: 'nothing' })
    const deleted = request('n1-file-0', { phase: 'Granted', slot: slot() }, {}, { deletionTimestamp: 'now' })
    expect(act(world({ request: present() }, [deleted]))).toMatchObject({ do: 'nothing' })
  })

  it('that failed to be written is reported, and tried again only after a person said so', () => {
    const failure = { since: '2026-03-01T12:00:00Z', failed: 'Permission', text: 'ENOSPC' } as const
    const failures = new Map([['uid-n1-file-0', failure]])
    const seen = { ...world({ request: present() }, [granted()]), failures }
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { failure: 'ENOSPC', failed: 'Permission' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
    const retried = { ...world({ request: present() }, [granted({ since: '2026-03-01T13:00:00Z' })]), failures }
    expect(act(retried)).toMatchObject({ do: 'writePermission' })
  })

  it('of an earlier node of this name stays while the machine has not rebooted, and is called an orphan', () => {
    const old = permission({ nodeUID: 'uid-old', requestUID: 'uid-gone' })
    const seen = world({ request: present(), permission: old }, [granted()])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { permission: 'Orphan' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
    const rebooted = world({ request: present(), permission: old, bootID: 'boot-2' }, [granted()])
    expect(act(rebooted)).toMatchObject({ do: 'deletePermission' })
  })

  it('survives a reboot of the machine', () => {
    const seen = world({ request: present(), permission: permission(), highestToken: 5, bootID: 'boot-2' }, [granted()])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { permission: 'Present', bootID: 'boot-2' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })

  it('is written anew when the slot got a higher token', () => {
    const raised = granted({ slot: slot(9) })
    const seen = world({ request: present(), permission: permission(), highestToken: 5 }, [raised])
    expect(act(seen)).toMatchObject({ do: 'writePermission', token: 9 })
  })

  it('made by another program stays for the maintenance that was taken over from it', () => {
    const imported = request(
      'n1-imported',
      { phase: 'Granted', slot: slot() },
      { source: { kind: 'Imported', key: 'k' } },
    )
    const seen = world({ request: present(), permission: { is: 'Present' } }, [imported])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { request: 'Present', permission: 'Present' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })

  it('stays while somebody who shares the slot still works', () => {
    const gone = request('n1-file-0', { phase: 'Finishing', slot: slot() })
    const sharer = request('n1-maint', { phase: 'Granted', slot: slot() }, { source: { kind: 'Person', key: 'p' } })
    const seen = world({ permission: permission(), highestToken: 5 }, [gone, sharer])
    expect(act(seen)).toMatchObject({ do: 'nothing' })
    expect(reportOn(seen, gone), 'who goes home has given it back').toMatchObject({ permission: 'Absent' })
    expect(reportOn(seen, sharer)).toMatchObject({ permission: 'Present' })
  })
})

describe('a request', () => {
  it('says again that it is over once it said so, whoever asks meanwhile', () => {
    const told = granted({ host: { request: 'Absent', requestID: '7:100', permission: 'Present' } })
    const seen = world({ request: present('8:200'), permission: permission(), highestToken: 5 }, [told])
    expect(reportOn(seen, told)).toMatchObject({ request: 'Absent', requestID: '7:100' })
    const done = request('n1-file-0', { phase: 'Done', host: { request: 'Absent', requestID: '7:100' } })
    expect(act(world({ request: present('8:200') }, [done]))).toMatchObject({ do: 'create', name: 'n1-file-1' })
  })

  it('that a person skipped is not made again while the same file lies there', () => {
    const skipped = request('n1-file-0', {
      phase: 'Done',
      outcome: 'Skipped',
      host: { request: 'Present', requestID: '7:100' },
    })
    expect(act(world({ request: present() }, [skipped]))).toMatchObject({ do: 'nothing' })
    expect(act(world({ request: present('8:1') }, [skipped]))).toMatchObject({ do: 'create' })
  })

  it('of an earlier node of this name is not ours, but its name is taken', () => {
    const theirs = request('n1-file-0', { phase: 'Granted', slot: slot() }, { nodeUID: 'uid-old' })
    expect(act(world({ request: present() }, [theirs]))).toMatchObject({ do: 'create', name: 'n1-file-1' })
  })

  it('is not made when all ten names are taken', () => {
    const all = Array.from({ length: 10 }, (_, digit) => request(`n1-file-${digit}`, { phase: 'Done' }))
    expect(act(world({ request: present() }, all))).toMatchObject({ do: 'nothing' })
  })

  it('carries the reasons of the scripts that ask', () => {
    const scripts = [
      { name: 'kernel', reason: '6.12.9' },
      { name: 'fan', reason: '' },
    ]
    expect(act(world({ request: present(), scripts }))).toMatchObject({ spec: { reason: 'kernel: 6.12.9; fan' } })
  })

  it('that a script failed says so in its words', () => {
    const scripts = [{ name: 'kernel', reason: '', failed: 'grub is broken' }]
    const seen = world({ request: present(), scripts, permission: permission(), highestToken: 5 }, [granted()])
    expect(decideAgent(seen)).toMatchObject({ host: { failure: 'kernel: grub is broken', failed: 'Script' } })
  })

  it('is followed by a heartbeat from claim to release, if something happens on the machine', () => {
    const seen = (one: MaintenanceRequest) => isAtWork({ node, requests: [one] })
    expect(seen(request('r', { phase: 'Queued' }))).toBe(false)
    expect(seen(request('r', { phase: 'Claimed', slot: slot() }))).toBe(true)
    expect(seen(request('r', { phase: 'Held', slot: slot() }))).toBe(true)
    expect(seen(request('r', { phase: 'Claimed', slot: slot() }, { work: 'External' }))).toBe(false)
    expect(seen(request('r', { phase: 'Done' }))).toBe(false)
  })
})

describe('a reboot', () => {
  const asked = (status: object = {}) =>
    request('n1-reboot-0', { phase: 'Granted', slot: slot(), ...status }, rebootSpec)
  const intent = { token: 5, fromBootID: 'boot-1' }
  const intended = (status: object = {}) => asked({ host: { rebootIntent: intent }, ...status })

  it('is asked for once, whatever finds the need', () => {
    expect(act(world({ reboot: rebootNeeded }))).toMatchObject({
      do: 'create',
      name: 'n1-reboot-0',
      spec: { source: { kind: 'Reboot', key: '/var/run/reboot-required' }, work: 'Reboot', reason: 'libc6' },
    })
    expect(
      act(
        world({ reboot: rebootNeeded }, [
          request('other', {}, { ...rebootSpec, source: { kind: 'Person', key: 'p' } }),
        ]),
      ),
    ).toMatchObject({ do: 'nothing' })
  })

  it('is not asked for by a detector that failed, or by an agent that may not reboot', () => {
    expect(act(world({ reboot: { is: 'Unreadable', why: 'exit code 127' } }))).toMatchObject({ do: 'nothing' })
    const never = world({ reboot: rebootNeeded })
    expect(act({ ...never, rules: { ...never.rules, mayReboot: false } })).toMatchObject({ do: 'nothing' })
  })

  it('is announced before it is ordered, and ordered only when the announcement is stored', () => {
    const seen = world({ reboot: rebootNeeded }, [asked()])
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { rebootIntent: intent, permission: 'Absent' } })
    expect(act(seen)).toMatchObject({ do: 'reboot', token: 5 })
    expect(act(world({ reboot: rebootNeeded }, [intended({ phase: 'Rebooting' })]))).toMatchObject({ do: 'reboot' })
  })

  it('is ordered once by each life of the agent', () => {
    const seen = world({ reboot: rebootNeeded }, [intended({ phase: 'Rebooting' })])
    expect(act({ ...seen, ordered: new Map([['uid-n1-reboot-0', undefined]]) })).toMatchObject({ do: 'nothing' })
    const held = { type: 'Held', status: 'False', reason: 'GoesOn', message: 'm', lastTransitionTime: 'later' } as const
    const retried = world({ reboot: rebootNeeded }, [intended({ phase: 'Granted', conditions: [held] })])
    expect(act({ ...retried, ordered: new Map([['uid-n1-reboot-0', 'before']]) }), 'held in vain since').toMatchObject({
      do: 'reboot',
    })
  })

  it('is not ordered in another boot than the one that it was announced in', () => {
    const seen = world({ reboot: { is: 'Absent' }, bootID: 'boot-2' }, [intended({ phase: 'Rebooting' })])
    expect(act(seen)).toMatchObject({ do: 'nothing' })
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { request: 'Absent', bootID: 'boot-2' } })
  })

  it.each([
    ['Queued', { phase: 'Queued', slot: undefined }],
    ['Claimed', { phase: 'Claimed' }],
    ['Held', { phase: 'Held' }],
    ['Finishing', { phase: 'Finishing' }],
  ])('is not announced while the request is %s', (_phase, status) => {
    expect(act(world({ reboot: rebootNeeded }, [asked(status)]))).toMatchObject({ do: 'nothing' })
  })

  it('that a person wants is over in another boot', () => {
    const wanted = (host?: object) =>
      request(
        'p',
        { phase: 'Granted', slot: slot(), ...(host ? { host } : {}) },
        { work: 'Reboot', source: { kind: 'Person', key: 'p' } },
      )
    expect(reportOn(world({}, [wanted()]), wanted())).toMatchObject({ request: 'Present' })
    const after = wanted({ rebootIntent: intent })
    expect(reportOn(world({ bootID: 'boot-2' }, [after]), after)).toMatchObject({ request: 'Absent' })
  })

  it('that a person wants is over in another boot also if somebody who shares the slot was told to reboot', () => {
    const person = { work: 'Reboot', source: { kind: 'Person', key: 'p' } } as const
    const since = (reboots: { count: number; bootIDBefore?: string; bootIDAfter?: string }) =>
      request('p', { phase: 'Granted', slot: slot(), reboots }, person)
    const other = intended({ phase: 'Rebooting' })
    const seen = (one: ReturnType<typeof since>) => world({ bootID: 'boot-2' }, [other, one])
    const claimed = request(
      'p',
      { phase: 'Claimed', slot: slot(), reboots: { count: 0, bootIDAfter: 'boot-1' } },
      person,
    )
    for (const one of [
      claimed,
      since({ count: 0, bootIDAfter: 'boot-1' }),
      since({ count: 1, bootIDBefore: 'boot-1' }),
    ]) {
      expect(reportOn(seen(one), one)).toMatchObject({ request: 'Absent', bootID: 'boot-2' })
      expect(act(seen(one))).toMatchObject({ do: 'nothing' })
    }
    const again = request('p', { phase: 'Queued', reboots: { count: 0, bootIDAfter: 'boot-1' } }, person)
    expect(reportOn(seen(again), again), 'its next turn is still to come').toMatchObject({ request: 'Present' })
    const here = since({ count: 0, bootIDAfter: 'boot-2' })
    expect(act(world({ bootID: 'boot-2' }, [here])), 'its turn came in this boot').toMatchObject({ do: 'reboot' })
  })

  it('waits while a script works, and goes once it is done', () => {
    const working = world({ request: present(), permission: permission(), highestToken: 5, reboot: rebootNeeded }, [
      granted(),
      asked(),
    ])
    expect(act(working)).toMatchObject({ do: 'nothing' })
    const done = request('n1-file-0', { phase: 'Done', host: { requestID: '7:100' } })
    expect(act(world({ highestToken: 5, reboot: rebootNeeded }, [done, asked()]))).toMatchObject({ do: 'reboot' })
  })

  it('gives way to a script that is about to be let', () => {
    const both = world({ request: present(), reboot: rebootNeeded }, [asked(), granted()])
    expect(act(both)).toMatchObject({ do: 'writePermission' })
  })

  it('keeps a permission from being written once it is announced', () => {
    const both = world({ request: present(), reboot: rebootNeeded }, [intended(), granted()])
    expect(act(both)).toMatchObject({ do: 'reboot' })
  })

  it('goes under the grant of scripts that all ask for it', () => {
    const wants = { name: 'a', reason: '', rebootFrom: 'boot-1' }
    const view = { request: present(), permission: permission(), highestToken: 5 }
    expect(act(world({ ...view, scripts: [wants] }, [granted()]))).toMatchObject({ do: 'reboot', token: 5 })
    const other = { name: 'b', reason: '' }
    expect(act(world({ ...view, scripts: [wants, other] }, [granted()]))).toMatchObject({ do: 'nothing' })
    const touched = { ...view, scripts: [wants], onlyScriptsAsk: false }
    expect(act(world(touched, [granted()])), 'somebody made the file by hand').toMatchObject({ do: 'nothing' })
    const past = { ...wants, rebootFrom: 'boot-0' }
    expect(act(world({ ...view, scripts: [past] }, [granted()])), 'asked in an earlier boot').toMatchObject({
      do: 'nothing',
    })
  })

  it('that scripts take back before it is ordered is taken back, but not after the order', () => {
    const told = granted({ phase: 'Rebooting', host: { rebootIntent: intent } })
    const view = { request: present(), permission: permission(), highestToken: 5, scripts: [{ name: 'a', reason: '' }] }
    expect(decideAgent(world(view, [told]))).toMatchObject({ do: 'report', host: { permission: 'Present' } })
    expect(reportOn(world(view, [told]), told)).toMatchObject({ rebootIntent: { takenBack: true } })
    expect(act(world(view, [told]))).toMatchObject({ do: 'nothing' })
    expect(reportOn(world({ ...view, isToldToReboot: true }, [told]), told).rebootIntent).toEqual(intent)
    expect(reportOn(world({ ...view, stateProblem: 'EIO' }, [told]), told).rebootIntent).toEqual(intent)
  })

  it('that is wanted back before it is ordered is taken back', () => {
    const back = request(
      'n1-reboot-0',
      { phase: 'Rebooting', slot: slot(), host: { rebootIntent: intent } },
      { ...rebootSpec, want: 'Return' },
    )
    expect(reportOn(world({ reboot: rebootNeeded }, [back]), back)).toMatchObject({ rebootIntent: { takenBack: true } })
    expect(act(world({ reboot: rebootNeeded }, [back]))).toMatchObject({ do: 'nothing' })
  })

  it('is refused when there were too many in a day', () => {
    const seen = world({ reboot: rebootNeeded, rebootsLastDay: 5 }, [asked()])
    expect(act(seen)).toMatchObject({ do: 'fail', failure: { failed: 'RebootLoop' } })
  })

  it('that could not be ordered is reported', () => {
    const failures = new Map([
      ['uid-n1-reboot-0', { since: '2026-03-01T12:00:00Z', failed: 'RebootOrder', text: 'exit code 1' } as const],
    ])
    const seen = {
      ...world({ reboot: rebootNeeded }, [intended()]),
      failures,
      ordered: new Map([['uid-n1-reboot-0', undefined]]),
    }
    expect(decideAgent(seen)).toMatchObject({ do: 'report', host: { failure: 'exit code 1', failed: 'RebootOrder' } })
    expect(act(seen)).toMatchObject({ do: 'nothing' })
  })
})
