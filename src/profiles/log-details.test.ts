import { expect, test } from 'vitest'
import { detailsOf } from './log-details.ts'
import type { PassResult } from './state/result.ts'

const result: PassResult = {
  unknown: ['typo'],
  profiles: [
    {
      name: 'p',
      state: 'operational',
      next: 'operational',
      waitsFor: 'a freeze',
      transitions: [
        {
          target: 'in-maintenance',
          isPassed: false,
          chain: {
            expression: 'go && wait',
            isPassed: true,
            checks: [
              { name: 'go', type: 'hasLabel', isPassed: true, info: {} },
              { name: 'wait', type: 'wait', isPassed: true, info: { remaining_seconds: 0 } },
            ],
          },
        },
      ],
    },
  ],
}

test('each profile, transition and check has a line of its own', () => {
  const where = { profile: 'p', state: 'operational', target: 'in-maintenance' }
  expect([...detailsOf(result)]).toEqual([
    { message: 'details: the file does not have these profiles', fields: { unknown: ['typo'] } },
    {
      message: 'details: a profile',
      fields: { profile: 'p', state: 'operational', next: 'operational', waitsFor: 'a freeze' },
    },
    {
      message: 'details: a transition',
      fields: { ...where, isTaken: false, doChecksPass: true, expression: 'go && wait' },
    },
    { message: 'details: a check', fields: { ...where, check: 'go', type: 'hasLabel', isPassed: true, info: {} } },
    {
      message: 'details: a check',
      fields: { ...where, check: 'wait', type: 'wait', isPassed: true, info: { remaining_seconds: 0 } },
    },
  ])
})

test('what keeps the node from being looked at is told alone', () => {
  expect([...detailsOf({ problem: 'paused: audit', unknown: [], profiles: [] })]).toEqual([
    { message: 'details: nothing is decided', fields: { problem: 'paused: audit' } },
  ])
})
