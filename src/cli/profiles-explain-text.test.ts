import { expect, test } from 'vitest'
import type { NodeExplanation } from '../profiles/index.ts'
import { explanationText } from './profiles-explain-text.ts'

const at = '2026-03-01T10:00:00Z'
const nowMs = Date.parse('2026-03-01T12:00:00Z')

const explanation: NodeExplanation = {
  node: 'node-7',
  label: 'flatcar--typo',
  state: 'maintenance-required',
  paused: 'vendor on site (jdoe)',
  frozen: 'release day',
  warnings: [{ note: 'Profile flatcar stays as it is: the node could not be written', times: 3, at }],
  unknown: ['typo'],
  known: ['flatcar', 'default'],
  profiles: [
    {
      name: 'flatcar',
      state: 'maintenance-required',
      since: at,
      isOverdue: true,
      transitions: [
        {
          target: 'in-maintenance',
          isPassed: false,
          passesAt: '2026-03-02T09:00:00.000Z',
          chain: {
            expression: 'approved && window',
            isPassed: false,
            checks: [
              { name: 'approved', type: 'hasAnnotation', isPassed: true, info: {} },
              { name: 'window', type: 'timeWindow', isPassed: false, info: { reason: 'Sunday is none of Mon' } },
              { name: 'max', type: 'maxMaintenance', isPassed: false, info: { maintained: 1, nodes: ['n1', 'n2'] } },
            ],
          },
        },
        {
          target: 'operational',
          isPassed: false,
          chain: {
            expression: 'alerts',
            isPassed: false,
            error: 'alerts: no answer',
            checks: [{ name: 'alerts', type: 'prometheusInstant', isPassed: false, info: {}, error: 'no answer' }],
          },
        },
      ],
      inFlight: { to: 'in-maintenance', since: at, trigger: 'drain (eviction), 1 of 2' },
      next: 'it waits',
    },
  ],
  pending: [{ profile: 'flatcar', instance: 'tell', state: 'maintenance-required', previous: 'operational', at }],
  history: [{ at, profile: 'flatcar', from: 'operational', to: 'maintenance-required', why: 'reboot_needed' }],
}

test('a person reads everything at once', () => {
  expect(explanationText(explanation, nowMs)).toMatchInlineSnapshot(`
    "node-7 is maintenance-required; its profiles: flatcar--typo
    paused: vendor on site (jdoe); \`fettle profiles resume node-7\` lets it go on
    frozen: release day
    warned 3 times, last at 2026-03-01 10:00 UTC: Profile flatcar stays as it is: the node could not be written
    the label names typo, which is not in the file; it has: flatcar, default

    profile flatcar: maintenance-required since 2026-03-01 10:00 UTC (2h), longer than its deadline
      on the way to in-maintenance since 2026-03-01 10:00 UTC: trigger drain (eviction), 1 of 2
      → in-maintenance does not pass before 2026-03-02 09:00 UTC: approved && window
          yes  approved (hasAnnotation)
          no   window (timeWindow)  Sunday is none of Mon
          no   max (maxMaintenance)  maintained: 1, nodes: n1 n2
      → operational cannot be decided: alerts
          no   alerts (prometheusInstant)  cannot tell: no answer
      next: it waits
    not sent yet: message tell of profile flatcar about maintenance-required, due since 2026-03-01 10:00 UTC
    history
      2026-03-01 10:00 UTC  flatcar: operational → maintenance-required  (reboot_needed)
    "
  `)
})

test('of a node without anything there is little to say', () => {
  const { paused: _, frozen: __, warnings: ___, ...bare } = explanation
  const text = explanationText({ ...bare, label: null, unknown: [], profiles: [], pending: [], history: [] }, nowMs)
  expect(text).toBe('node-7 is maintenance-required; its profiles: default (it has no label)\n')
})
