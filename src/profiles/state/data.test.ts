import { expect, test } from 'vitest'
import { type MaintenanceData, readData, writeData } from './data.ts'

const dataOf = (text: string | undefined): MaintenanceData => {
  const read = readData(text)
  if ('problem' in read) throw new Error(read.problem)
  return read.data
}
const example =
  '{"Profiles":{"flatcar":{"Transition":"2024-01-02T03:04:05.123456789Z","Current":"maintenance-required",' +
  '"Previous":"operational"}},"Notifications":{"approval_required":"2024-01-02T03:05:00.5Z"}}'

test.for([
  example,
  '{"Profiles":{},"Notifications":{}}',
  '{"Profiles":{"a":{"Transition":"2024-01-02T03:04:05+02:00","Current":"operational","Previous":"operational"}},"Notifications":{"never":"0001-01-01T00:00:00Z"}}',
  '{"Profiles":{"a\\u003cb":{"Transition":"0001-01-01T00:00:00Z","Current":"","Previous":""}},"Notifications":{}}',
])('%s is written as it was read', (text) => {
  expect(writeData(dataOf(text))).toBe(text)
})

test.for([undefined, '', ' ', '{}', 'null', '{"Profiles":null,"Notifications":null}', '{"Profiles":{"a":null}}'])(
  '%j is no data',
  (text) => {
    expect(writeData(dataOf(text))).toBe('{"Profiles":{},"Notifications":{}}')
  },
)

test('maps are sorted by bytes, and times lose zeros that say nothing', () => {
  const text =
    '{"notifications":{"b":"2024-01-02T03:04:05.500Z","a":"2024-01-02T03:04:05.000+00:00","\u00e4":"2024-01-02T03:04:05Z"},"PROFILES":{}} and more'
  expect(writeData(dataOf(text))).toBe(
    '{"Profiles":{},"Notifications":{"a":"2024-01-02T03:04:05Z","b":"2024-01-02T03:04:05.5Z","\u00e4":"2024-01-02T03:04:05Z"}}',
  )
})

test.for([
  ['{{}', 'the data is no JSON'],
  ['[]', 'the data should be an object'],
  ['{"Profiles":{},"Extra":1}', 'a field "extra" that nobody knows'],
  ['{"Profiles":{"a":{"Current":"operational","Since":1}}}', 'Profiles.a has a field "since"'],
  ['{"Profiles":{"a":{"Current":5}}}', 'Profiles.a.Current should be a text'],
  ['{"Profiles":{"a":{"Transition":"yesterday"}}}', 'Profiles.a.Transition should be a time'],
  ['{"Notifications":{"a":"2024-02-30T00:00:00Z"}}', 'Notifications.a should be a time'],
  ['{"Notifications":[]}', 'Notifications should be an object'],
] as const)('%s cannot be read: %s', ([text, why]) => {
  expect(readData(text)).toMatchObject({ problem: expect.stringContaining(why) as string })
})

test('the layout of releases before the middle of 2023 is read, and written as the present one', () => {
  const old = {
    LastTransition: '2023-01-02T03:04:05Z',
    LastNotificationTimes: { n: '2023-01-02T03:05:00Z' },
    ProfileStates: { a: 'in-maintenance', b: 'operational' },
    PreviousStates: { a: 'maintenance-required' },
  }
  expect(JSON.parse(writeData(dataOf(JSON.stringify(old))))).toEqual({
    Profiles: {
      a: { Transition: old.LastTransition, Current: 'in-maintenance', Previous: 'maintenance-required' },
      b: { Transition: old.LastTransition, Current: 'operational', Previous: 'operational' },
    },
    Notifications: { n: '2023-01-02T03:05:00Z' },
  })
})
