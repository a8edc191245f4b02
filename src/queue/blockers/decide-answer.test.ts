import { describe, expect, test } from 'vitest'
import type { AlertsBlocker, Blocker } from '../../api/index.ts'
import { node, request } from '../fixture-world.ts'
import { alertQuery, decideAlerts } from './decide-alerts.ts'
import { blockOf, shownWithout } from './decide-answer.ts'
import { decideHook, hookQuestion } from './decide-hook.ts'

const shown = shownWithout('c4n4ry')
const alerts = (more: Partial<AlertsBlocker> = {}): AlertsBlocker => ({
  url: 'http://prometheus:9090',
  firingOnly: false,
  deadline: '5s',
  ...more,
})

describe('the question to Prometheus', () => {
  test.for([
    [{}, 'alertname=~".+"'],
    [{ ignore: 'Watchdog|Info.*' }, 'alertname=~".+",alertname!~"Watchdog|Info.*"'],
    [{ only: 'Ceph.+' }, 'alertname=~".+",alertname=~"Ceph.+"'],
    [{ firingOnly: true }, 'alertname=~".+",alertstate="firing"'],
    [{ labels: { severity: 'critical', team: 'a' } }, 'alertname=~".+",severity="critical",team="a"'],
    [{ only: '"} or vector(1) #\\d' }, 'alertname=~".+",alertname=~"\\"} or vector(1) #\\\\d"'],
  ] as const)('of %j is about ALERTS{%s}', ([more, matchers]) => {
    expect(alertQuery(alerts(more))).toBe(`count by (alertname, alertstate) (ALERTS{${matchers}} != 0)`)
  })
})

describe('an answer of Prometheus', () => {
  const vector = (...result: { alertname?: string; alertstate?: string }[]) => ({
    status: 'success',
    data: { resultType: 'vector', result: result.map((metric) => ({ metric, value: [1, '1'] })) },
  })

  test('without alerts lets the node leave', () => {
    expect(decideAlerts(200, vector(), shown)).toEqual({ mayLeave: 'yes' })
  })

  test('with alerts does not, and names three', () => {
    expect(decideAlerts(200, vector({ alertname: 'Slow', alertstate: 'pending' }), shown)).toEqual({
      mayLeave: 'no',
      why: 'alert Slow is pending',
    })
    const many = ['D', 'B', 'A', 'C'].map((alertname) => ({ alertname, alertstate: 'firing' }))
    expect(decideAlerts(200, vector(...many), shown)).toEqual({
      mayLeave: 'no',
      why: 'alert A is firing, B is firing, C is firing and others',
    })
  })

  test.for([
    [400, { status: 'error', error: 'parse\nerror: c4n4ry' }, 'refuses the question: parse error: [redacted]'],
    [200, { status: 'error', error: 'overloaded' }, 'refuses the question: overloaded'],
    [500, vector(), 'answered 500 with something that is not a list of alerts'],
    [200, undefined, 'answered 200 with something that is not a list of alerts'],
    [200, { status: 'success' }, 'answered 200 with something that is not a list of alerts'],
    [200, { ...vector(), data: { resultType: 'scalar', result: [1, '0'] } }, 'not a list of alerts'],
    [200, { ...vector(), warnings: ['store-2: no such host'] }, 'answered for a part only: store-2: no such host'],
  ] as const)('of %d %j is no answer', ([status, body, why]) => {
    const answer = decideAlerts(status, body, shown)
    expect(answer).toEqual({ mayLeave: 'unknown', why: expect.stringContaining(why) })
  })
})

describe('a hook', () => {
  test('is told about node and request', () => {
    const asking = request('r', 'a', { spec: { requestedBy: 'jdoe-at-example' } })
    expect(hookQuestion('change-board', node('a', { labels: { zone: 'z' } }), asking)).toEqual({
      apiVersion: 'fettle.dev/v1alpha1',
      kind: 'BlockerQuestion',
      blocker: 'change-board',
      node: { name: 'a', uid: 'uid-a', labels: { zone: 'z' } },
      request: {
        name: 'r',
        uid: 'uid-r',
        source: { kind: 'Person', key: 'r' },
        reason: 'new fan',
        priority: 0,
        work: 'External',
        requestedBy: 'jdoe-at-example',
      },
    })
  })

  test.for([
    [200, { allow: true }, { mayLeave: 'yes' }],
    [200, { allow: true, message: 'go', more: 1 }, { mayLeave: 'yes' }],
    [200, { allow: false }, { mayLeave: 'no', why: 'the hook does not allow it' }],
    [200, { allow: false, message: ' not\ton c4n4ry\u0007day ' }, { mayLeave: 'no', why: 'not on [redacted] day' }],
  ] as const)('that answers %d %j is understood', ([status, body, answer]) => {
    expect(decideHook(status, body, shown)).toEqual(answer)
  })

  test.for([
    [201, { allow: true }],
    [204, undefined],
    [500, { allow: true }],
    [200, undefined],
    [200, true],
    [200, {}],
    [200, { allow: 'true' }],
    [200, { allow: 1 }],
    [200, [{ allow: true }]],
    [200, { allow: true, message: 7 }],
  ] as const)('that answers %d %j gave no answer', ([status, body]) => {
    expect(decideHook(status, body, shown)).toEqual({
      mayLeave: 'unknown',
      why: `answered ${status} without {"allow": true} or {"allow": false}`,
    })
  })
})

describe('what a person reads', () => {
  const hook: Blocker = { name: 'board', hook: { url: 'https://board.example:8443/s3cr3t/path', deadline: '5s' } }

  test('of alerts', () => {
    const blocker: Blocker = { name: 'calm', alerts: alerts({ url: 'http://prometheus:9090/' }) }
    expect(blockOf(blocker, { mayLeave: 'yes' })).toBeUndefined()
    expect(blockOf(blocker, { mayLeave: 'no', why: 'alert A is firing' })).toEqual({
      message: 'blocker calm: alert A is firing',
      next: 'look at http://prometheus:9090/alerts',
    })
  })

  test('of a hook, without the path that may be a secret', () => {
    expect(blockOf(hook, { mayLeave: 'no', why: 'not today' })).toEqual({
      message: 'blocker board: not today',
      next: 'ask who runs https://board.example:8443',
    })
    expect(blockOf(hook, { mayLeave: 'unknown', why: 'gave no answer within 5 s' })).toEqual({
      message: 'blocker board cannot be judged: https://board.example:8443 gave no answer within 5 s',
      next: 'make it answer, or take blocker board out: kubectl edit maintenancebudget cluster',
    })
  })

  test('is one line of bounded length', () => {
    expect(shown(`a\n\n${'b'.repeat(300)}`)).toBe(`a ${'b'.repeat(198)}…`)
    expect(shown('\u202eevil')).toBe('evil')
  })
})
