import { describe, expect, test } from 'vitest'
import { intervals, readWindow } from './window.ts'

const event = (...lines: string[]) => ['BEGIN:VEVENT', 'UID:one', 'SUMMARY:closed', ...lines, 'END:VEVENT'].join('\r\n')
const calendar = (...events: string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', ...events, 'END:VCALENDAR', ''].join('\r\n')

function read(text: string, timeZone = 'Europe/Paris') {
  return readWindow({ timeZone, schedule: { always: true }, exclusions: [{ calendar: { text } }] })
}

/** What the calendar takes away. */
function closedTimes(text: string, from: string, to: string, timeZone?: string): string[] {
  const { window, problems } = read(text, timeZone)
  if (!window) throw new Error(JSON.stringify(problems))
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
  const short = (ms: number) => new Date(ms).toISOString().replace(/:00\.000Z$/, 'Z')
  const edges = intervals(window, fromMs, toMs).flatMap(({ startMs, endMs }) => [startMs, endMs])
  const all = [fromMs, ...edges, toMs]
  const closed: string[] = []
  for (let index = 0; index < all.length; index += 2) {
    const [start = 0, end = 0] = [all[index], all[index + 1]]
    if (start < end) closed.push(`${short(start)} - ${short(end)}`)
  }
  return closed
}

describe('events', () => {
  test.for<[string, string, string, string, string[]]>([
    [
      'of a whole day are whole local days, and the end is not part of it',
      event('DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20261227'),
      '2026-12-20T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-23T23:00Z - 2026-12-26T23:00Z'],
    ],
    [
      'of a day without end last that day',
      event('DTSTART;VALUE=DATE:20261224'),
      '2026-12-20T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-23T23:00Z - 2026-12-24T23:00Z'],
    ],
    [
      'without zone are in the zone of the window',
      event('DTSTART:20261224T100000', 'DURATION:PT1H30M'),
      '2026-12-20T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-24T09:00Z - 2026-12-24T10:30Z'],
    ],
    [
      'have a zone of their own, on folded lines',
      event(
        'DTSTART;TZID=America/New_\r\n York:20261224T100000',
        'DTEND;TZID="America/New_York":20261\r\n\t224T113000',
      ),
      '2026-12-20T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-24T15:00Z - 2026-12-24T16:30Z'],
    ],
    [
      'repeat each year, with the first one though the rule is about something else',
      event('DTSTART;VALUE=DATE:20260502', 'RRULE:FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=1'),
      '2026-04-01T00:00Z',
      '2028-01-01T00:00Z',
      ['2026-05-01T22:00Z - 2026-05-02T22:00Z', '2027-04-30T22:00Z - 2027-05-01T22:00Z'],
    ],
    [
      'leave out dates, in whatever zone these are written',
      event(
        'DTSTART:20261201T080000',
        'DTEND:20261201T090000',
        'RRULE:FREQ=DAILY;COUNT=4',
        'EXDATE:20261202T070000Z,20261203T080000',
      ),
      '2026-12-01T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-01T07:00Z - 2026-12-01T08:00Z', '2026-12-04T07:00Z - 2026-12-04T08:00Z'],
    ],
    [
      'get further dates',
      event('DTSTART:20261201T080000', 'DTEND:20261201T090000', 'RDATE:20261205T080000'),
      '2026-12-01T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-01T07:00Z - 2026-12-01T08:00Z', '2026-12-05T07:00Z - 2026-12-05T08:00Z'],
    ],
    [
      'are moved: the one that replaces a date stands for itself',
      [
        event('DTSTART:20261201T080000', 'DTEND:20261201T090000', 'RRULE:FREQ=DAILY;COUNT=2'),
        event('RECURRENCE-ID:20261202T080000', 'DTSTART:20261202T200000', 'DTEND:20261202T210000'),
      ].join('\r\n'),
      '2026-12-01T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-01T07:00Z - 2026-12-01T08:00Z', '2026-12-02T19:00Z - 2026-12-02T20:00Z'],
    ],
    [
      'that were cancelled close nothing, and alarms and zones in the file are not events',
      [
        'BEGIN:VTIMEZONE\r\nTZID:Europe/Paris\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE',
        event('DTSTART;VALUE=DATE:20261224', 'STATUS:CANCELLED'),
        event(
          'DTSTART:20261225T100000Z',
          'DURATION:PT1H',
          'BEGIN:VALARM',
          'TRIGGER:-PT15M',
          'DURATION:PT9H',
          'END:VALARM',
        ),
      ].join('\r\n'),
      '2026-12-20T00:00Z',
      '2026-12-31T00:00Z',
      ['2026-12-25T10:00Z - 2026-12-25T11:00Z'],
    ],
    [
      'last calendar days over a change of clocks',
      event('DTSTART:20270327T120000', 'DURATION:P1D'),
      '2027-03-20T00:00Z',
      '2027-03-31T00:00Z',
      ['2027-03-27T11:00Z - 2027-03-28T10:00Z'],
    ],
  ])('%s', ([, text, from, to, expected]) => {
    expect(closedTimes(calendar(text), from, to)).toEqual(expected)
  })

  test.for<[string, (text: string) => string]>([
    ['in capitals', (text) => text.toUpperCase()],
    ['in lower case', (text) => text.toLowerCase()],
    [
      'with only its events in lower case',
      (text) => text.replaceAll(/(BEGIN|END):VEVENT/g, (line) => line.toLowerCase()),
    ],
    ['with all but its names in lower case', (text) => text.replaceAll(/:.*$/gm, (value) => value.toLowerCase())],
  ])('a calendar %s closes the same times, because case means nothing in it', ([, spelt]) => {
    const text = calendar(
      event('DTSTART;VALUE=DATE:20261224', 'RRULE:FREQ=YEARLY;BYDAY=TH;BYMONTH=12;UNTIL=20261225T000000Z'),
      event('DTSTART:20261226T100000Z', 'DURATION:P1DT1H'),
      event('DTSTART;VALUE=DATE:20261230', 'STATUS:CANCELLED'),
    )
    expect(closedTimes(spelt(text), '2026-12-20T00:00Z', '2027-01-05T00:00Z')).toEqual([
      '2026-12-23T23:00Z - 2026-12-24T23:00Z',
      '2026-12-26T10:00Z - 2026-12-27T11:00Z',
    ])
  })

  test('a calendar without events closes nothing', () => {
    expect(closedTimes(calendar(), '2026-12-20T00:00Z', '2026-12-31T00:00Z')).toEqual([])
  })
})

test.for<[string, string]>([
  ['', 'it is empty'],
  ['<html>404</html>', 'is not a line of a calendar'],
  ['BEGIN:VEVENT\nEND:VEVENT', 'does not begin with BEGIN:VCALENDAR'],
  ['VERSION:2.0\nBEGIN:VCALENDAR\nEND:VCALENDAR', 'does not begin with BEGIN:VCALENDAR'],
  ['BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261224T100000', 'ends inside VEVENT'],
  ['BEGIN:VCALENDAR\nEND:VEVENT', 'END:VEVENT ends something that was not begun'],
  [calendar(event()), '"closed" has no DTSTART'],
  [calendar(event('DTSTART:20261324T100000')), '"20261324T100000" does not exist'],
  [calendar(event('DTSTART:tomorrow')), '"tomorrow" does not exist'],
  [calendar(event('DTSTART;TZID=W. Europe Standard Time:20261224T100000')), 'is not a time zone'],
  [calendar(event('DTSTART:20261224T100000', 'DTEND:20261223T100000')), 'ends before it starts'],
  [calendar(event('DTSTART;VALUE=DATE:20261224', 'DTEND:20261225T100000')), 'must both be dates'],
  [calendar(event('DTSTART:20261224T100000', 'DTEND:20261224T110000', 'DURATION:PT1H')), 'both DTEND and DURATION'],
  [calendar(event('DTSTART:20261224T100000', 'DURATION:1h')), '"1h" is not the DURATION of an event'],
  [calendar(event('DTSTART:20261224T100000', 'RRULE:FREQ=HOURLY')), 'FREQ can be YEARLY'],
  [calendar(event('DTSTART:20261224T100000', 'RRULE:FREQ=DAILY', 'RRULE:FREQ=WEEKLY')), 'more than one RRULE'],
  [calendar(event('DTSTART:20261224T100000', 'EXRULE:FREQ=DAILY')), 'EXRULE'],
  [calendar(event('DTSTART:20261224T100000', 'RDATE;VALUE=PERIOD:20261225T100000Z/PT1H')), 'does not exist'],
  [calendar(event('DTSTART:20261224T100000', 'RECURRENCE-ID;RANGE=THISANDFUTURE:20261224T100000')), 'RANGE'],
])('%j is refused as a whole', ([text, expected]) => {
  const { window, problems } = read(text)
  expect(window).toBeUndefined()
  expect(problems).toEqual([
    { path: 'exclusions[0].ics', message: expect.stringContaining(expected), isCalendar: true },
  ])
})
