import { describe, expect, test } from 'vitest'
import { intervals, readWindow, type WindowText } from './window.ts'

const paris = 'Europe/Paris'

function spans(text: WindowText, from: string, to: string): string[] {
  const { window, problems } = readWindow(text)
  if (!window) throw new Error(JSON.stringify(problems))
  const short = (ms: number) => new Date(ms).toISOString().replace(/:00\.000Z$/, 'Z')
  return intervals(window, Date.parse(from), Date.parse(to)).map(
    ({ startMs, endMs }) => `${short(startMs)} - ${short(endMs)}`,
  )
}

const problemsOf = (text: WindowText) => readWindow(text).problems.map(({ path, message }) => `${path}: ${message}`)

describe('on nights when the clocks change', () => {
  test.for<[string, WindowText, string, string, string[]]>([
    [
      'a start that does not exist is as far behind the gap, and the duration is elapsed time',
      { timeZone: paris, schedule: { cron: '30 2 * * SUN' }, duration: '2h' },
      '2027-03-27T00:00Z',
      '2027-03-29T00:00Z',
      ['2027-03-28T01:30Z - 2027-03-28T03:30Z'],
    ],
    [
      'of a start that exists twice it is the first',
      { timeZone: paris, schedule: { cron: '30 2 * * SUN' }, duration: '2h' },
      '2027-10-30T00:00Z',
      '2027-11-01T00:00Z',
      ['2027-10-31T00:30Z - 2027-10-31T02:30Z'],
    ],
    [
      'a weekly window is an hour longer in autumn',
      { timeZone: paris, schedule: { weekly: { days: ['Sat'], from: '22:00', to: '04:00' } } },
      '2027-10-30T00:00Z',
      '2027-11-01T00:00Z',
      ['2027-10-30T20:00Z - 2027-10-31T03:00Z'],
    ],
    [
      'and an hour shorter in spring',
      { timeZone: paris, schedule: { weekly: { days: ['Sat'], from: '22:00', to: '04:00' } } },
      '2027-03-27T00:00Z',
      '2027-03-29T00:00Z',
      ['2027-03-27T21:00Z - 2027-03-28T02:00Z'],
    ],
    [
      'of an end that exists twice it is the second',
      { timeZone: paris, schedule: { weekly: { days: ['Sat'], from: '23:00', to: '02:30' } } },
      '2027-10-30T00:00Z',
      '2027-11-01T00:00Z',
      ['2027-10-30T21:00Z - 2027-10-31T01:30Z'],
    ],
    [
      'a weekly window that lies in the gap is not lost',
      { timeZone: paris, schedule: { weekly: { days: ['Sun'], from: '02:15', to: '02:45' } } },
      '2027-03-28T00:00Z',
      '2027-03-29T00:00Z',
      ['2027-03-28T01:15Z - 2027-03-28T01:45Z'],
    ],
    [
      'nor is one that starts in the gap and ends right behind it',
      { timeZone: paris, schedule: { weekly: { days: ['Sun'], from: '02:30', to: '03:00' } } },
      '2027-03-28T00:00Z',
      '2027-03-29T00:00Z',
      ['2027-03-28T01:30Z - 2027-03-28T02:00Z'],
    ],
    [
      'a day that a zone left out is its next day, once',
      { timeZone: 'Pacific/Apia', schedule: { cron: '0 5 * * *' }, duration: '1h' },
      '2011-12-29T00:00Z',
      '2012-01-01T00:00Z',
      [
        '2011-12-29T15:00Z - 2011-12-29T16:00Z',
        '2011-12-30T15:00Z - 2011-12-30T16:00Z',
        '2011-12-31T15:00Z - 2011-12-31T16:00Z',
      ],
    ],
    [
      'such a day excludes nothing',
      {
        timeZone: 'Pacific/Apia',
        schedule: { always: true },
        exclusions: [{ from: '2011-12-30', to: '2011-12-30' }],
      },
      '2011-12-29T00:00Z',
      '2012-01-01T00:00Z',
      ['2011-12-29T00:00Z - 2012-01-01T00:00Z'],
    ],
    [
      'a day without midnight begins an hour later',
      { timeZone: 'America/Sao_Paulo', schedule: { cron: '0 0 4 11 *' }, duration: '1h' },
      '2018-11-03T00:00Z',
      '2018-11-06T00:00Z',
      ['2018-11-04T03:00Z - 2018-11-04T04:00Z'],
    ],
    [
      'a rule of recurrence starts as cron does',
      {
        timeZone: paris,
        schedule: { rrule: 'DTSTART:20270101T023000\nRRULE:FREQ=WEEKLY;BYDAY=SU' },
        duration: '2h',
      },
      '2027-03-28T00:00Z',
      '2027-03-29T00:00Z',
      ['2027-03-28T01:30Z - 2027-03-28T03:30Z'],
    ],
  ])('%s', ([, text, from, to, expected]) => {
    expect(spans(text, from, to)).toEqual(expected)
  })
})

describe('schedules', () => {
  test.for<[string, WindowText, string, string, string[]]>([
    [
      'the second Tuesday of a month by rule',
      { schedule: { rrule: 'DTSTART:20260101T020000\nRRULE:FREQ=MONTHLY;BYDAY=2TU' }, duration: '4h' },
      '2026-11-01T00:00Z',
      '2026-12-01T00:00Z',
      ['2026-11-10T02:00Z - 2026-11-10T06:00Z'],
    ],
    [
      'the second Tuesday of a month by cron',
      { schedule: { cron: '0 2 * * 2#2' }, duration: '4h' },
      '2026-11-01T00:00Z',
      '2026-12-01T00:00Z',
      ['2026-11-10T02:00Z - 2026-11-10T06:00Z'],
    ],
    [
      'the last Friday, and the last day',
      { schedule: { cron: '0 2 * * 5L' }, duration: '1h', exclusions: [] },
      '2026-11-01T00:00Z',
      '2027-01-01T00:00Z',
      ['2026-11-27T02:00Z - 2026-11-27T03:00Z', '2026-12-25T02:00Z - 2026-12-25T03:00Z'],
    ],
    [
      'a rule ends with its last day, in local time',
      {
        timeZone: 'America/New_York',
        schedule: { rrule: 'DTSTART:20261110T220000\nRRULE:FREQ=DAILY;UNTIL=20261112T030000Z\nEXDATE:20261110T220000' },
        duration: '1h',
      },
      '2026-11-01T00:00Z',
      '2026-12-01T00:00Z',
      ['2026-11-12T03:00Z - 2026-11-12T04:00Z'],
    ],
    [
      'the weekday is that of the start',
      { schedule: { weekly: { days: ['Fri'], from: '22:00', to: '04:00' } } },
      '2026-11-21T03:00Z',
      '2026-11-22T00:00Z',
      ['2026-11-21T03:00Z - 2026-11-21T04:00Z'],
    ],
    [
      'whole days touch, and so are one',
      { schedule: { weekly: { days: ['Sat', 'Sun'], from: '00:00', to: '24:00' } } },
      '2026-11-16T00:00Z',
      '2026-11-30T00:00Z',
      ['2026-11-21T00:00Z - 2026-11-23T00:00Z', '2026-11-28T00:00Z - 2026-11-30T00:00Z'],
    ],
    [
      'once',
      { timeZone: paris, schedule: { once: { from: '2027-01-05T02:00:00', to: '2027-01-05T06:00' } } },
      '2026-11-16T00:00Z',
      '2028-11-30T00:00Z',
      ['2027-01-05T01:00Z - 2027-01-05T05:00Z'],
    ],
    [
      'what began days before is still open',
      { schedule: { cron: '0 0 1 * *' }, duration: '168h' },
      '2026-11-07T12:00Z',
      '2026-11-20T00:00Z',
      ['2026-11-07T12:00Z - 2026-11-08T00:00Z'],
    ],
    [
      'every minute for a minute is always',
      { schedule: { cron: '* * * * *' }, duration: '1m' },
      '2026-11-16T00:00Z',
      '2028-11-30T00:00Z',
      ['2026-11-16T00:00Z - 2028-11-30T00:00Z'],
    ],
    [
      'exclusions win: whole local days with the last one, and cron',
      {
        timeZone: paris,
        schedule: { always: true },
        exclusions: [
          { from: '2026-12-18', to: '2027-01-04' },
          { cron: '0 12 * * FRI', duration: '60h' },
        ],
      },
      '2026-12-08T00:00Z',
      '2027-01-06T00:00Z',
      [
        '2026-12-08T00:00Z - 2026-12-11T11:00Z',
        '2026-12-13T23:00Z - 2026-12-17T23:00Z',
        '2027-01-04T23:00Z - 2027-01-06T00:00Z',
      ],
    ],
  ])('%s', ([, text, from, to, expected]) => {
    expect(spans(text, from, to)).toEqual(expected)
  })
})

describe('what cannot be read is refused, with the field and a remedy', () => {
  test.for<[WindowText, RegExp]>([
    [{ timeZone: '+02:00', schedule: { always: true } }, /^timeZone: "\+02:00" is not a time zone; write an IANA name/],
    [{ timeZone: 'UTC+2', schedule: { always: true } }, /^timeZone: /],
    [{ timeZone: 'Europe/Pari', schedule: { always: true } }, /^timeZone: "Europe\/Pari" is not a time zone/],
    [{ timeZone: '', schedule: { always: true } }, /^timeZone: /],
    [{ schedule: {} }, /^schedule: it has 0 of cron, .*write exactly one/],
    [{ schedule: { always: true, cron: '* * * * *' } }, /^schedule: it has 2 of/],
    [{ schedule: { always: false } }, /^schedule\.always: .*can only be true; to close the window for good/],
    [{ schedule: { always: true }, duration: '1h' }, /^duration: duration goes with cron and rrule/],
    [{ schedule: { cron: '0 2 * * MON' } }, /^duration: duration is missing/],
    [{ schedule: { cron: '0 2 * * MON' }, duration: '30s' }, /^duration: 30s is shorter than 1m/],
    [{ schedule: { cron: '0 2 * * MON' }, duration: '169h' }, /^duration: 169h is .* longer than 168h/],
    [{ schedule: { cron: '0 2 * *' }, duration: '1h' }, /^schedule\.cron: .*five fields/],
    [{ schedule: { cron: '0 0 2 * * MON' }, duration: '1h' }, /^schedule\.cron: .*five fields/],
    [{ schedule: { cron: '? 2 * * MON' }, duration: '1h' }, /^schedule\.cron: .*character/],
    [{ schedule: { cron: '61 2 * * MON' }, duration: '1h' }, /^schedule\.cron: "61 2 \* \* MON" is not a cron pattern/],
    [{ schedule: { cron: '@every 5m' }, duration: '1h' }, /^schedule\.cron: /],
    [{ schedule: { cron: '@reboot' }, duration: '1h' }, /^schedule\.cron: /],
    [
      { schedule: { rrule: 'RRULE:FREQ=DAILY' }, duration: '1h' },
      /^schedule\.rrule: it needs one line such as DTSTART/,
    ],
    [{ schedule: { rrule: 'DTSTART:20270105T020000' }, duration: '1h' }, /^schedule\.rrule: .*RRULE:FREQ/],
    [
      { schedule: { rrule: 'DTSTART;TZID=Asia/Tokyo:20270105T020000\nRRULE:FREQ=DAILY' }, duration: '1h' },
      /^schedule\.rrule: .*the zone of a window is its timeZone/,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=MINUTELY' }, duration: '1h' },
      /^schedule\.rrule: .*for shorter steps there is cron/,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=DAILY;BYDAY=XX' }, duration: '1h' },
      /^schedule\.rrule: /,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=DAILY;BYMONTH=13' }, duration: '1h' },
      /^schedule\.rrule: .*BYMONTH=13 is not understood here/,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=WEEKLY;BYDAY=2TU' }, duration: '1h' },
      /^schedule\.rrule: .*BYDAY=2TU is not understood here/,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=MONTHLY;BYDAY=TU;UNTIL=soon' }, duration: '1h' },
      /^schedule\.rrule: "soon" does not exist/,
    ],
    [
      {
        schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5' },
        duration: '1h',
      },
      /^schedule\.rrule: .*it starts 25 times a day/,
    ],
    [
      { schedule: { rrule: 'DTSTART:00270105T020000\nRRULE:FREQ=DAILY' }, duration: '1h' },
      /"00270105T020000" does not/,
    ],
    [
      { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=DAILY;INTERVAL=0' }, duration: '1h' },
      /^schedule\.rrule: /,
    ],
    [
      { schedule: { weekly: { days: ['Mon'], from: '22:00', to: '22:00' } } },
      /^schedule\.weekly: from 22:00 to 22:00 is nothing, or everything/,
    ],
    [{ schedule: { weekly: { days: ['Mon'], from: '25:00', to: '22:00' } } }, /^schedule\.weekly: "25:00"/],
    [{ schedule: { weekly: { days: ['Monday' as 'Mon'], from: '20:00', to: '22:00' } } }, /^schedule\.weekly: days/],
    [
      { schedule: { once: { from: '2027-02-30T02:00', to: '2027-03-05T06:00' } } },
      /^schedule\.once: "2027-02-30T02:00" does not exist/,
    ],
    [{ schedule: { once: { from: '2027-01-05T02:00Z', to: '2027-03-05T06:00' } } }, /without zone/],
    [{ schedule: { once: { from: '2027-01-05T02:00', to: '2027-01-05T02:00:00' } } }, /not after/],
    [
      { schedule: { always: true }, exclusions: [{ from: '2027-01-05', to: '2027-01-04' }] },
      /^exclusions\[0\]: it ends/,
    ],
    [{ schedule: { always: true }, exclusions: [{}] }, /^exclusions\[0\]: write from and to/],
    ...(
      [
        [{ from: '2027-01-05' }, /^exclusions\[0\]: write from and to/],
        [{ to: '2027-01-05' }, /^exclusions\[0\]: write from and to/],
        [
          { from: '2027-01-05', to: '2027-01-05', cron: '0 2 * * *', duration: '1h' },
          /^exclusions\[0\]: it has 2 of from and to, cron, and ics; write exactly one/,
        ],
        [{ to: '2027-01-05', calendar: { text: '' } }, /^exclusions\[0\]: it has 2 of/],
        [
          { from: '2027-01-05', to: '2027-01-05', duration: '1h' },
          /^exclusions\[0\]\.duration: duration goes with cron, and only with it/,
        ],
        [{ calendar: { problem: 'gone' }, duration: '1h' }, /^exclusions\[0\]\.duration: duration goes with cron/],
      ] as const
    ).map(([one, expected]): [WindowText, RegExp] => [{ schedule: { always: true }, exclusions: [one] }, expected]),
    [{ schedule: { always: true }, exclusions: [{ cron: '0 2 * * *' }] }, /^exclusions\[0\]\.duration: /],
    [
      { schedule: { always: true }, exclusions: [{ calendar: { problem: 'ConfigMap a/b does not exist' } }] },
      /^exclusions\[0\]\.ics: ConfigMap a\/b does not exist/,
    ],
  ])('%j', ([text, expected]) => {
    expect(problemsOf(text).join('\n')).toMatch(expected)
  })

  test('all problems at once', () => {
    const text = { timeZone: 'Nowhere', schedule: { cron: 'x' }, exclusions: [{ from: 'a', to: 'b' }] }
    expect(readWindow(text).problems.map(({ path }) => path)).toEqual([
      'timeZone',
      'duration',
      'schedule.cron',
      'exclusions[0]',
    ])
  })
})
