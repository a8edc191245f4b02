import type { IntervalSource } from './daily-times.ts'
import { clip, type Interval } from './interval.ts'
import { type CalendarTime, readCalendarTime, recurrence, recurrenceSource } from './recurrence.ts'
import { Unreadable } from './unreadable.ts'
import { dayMs } from './wall-time.ts'
import { type Zone, zoneOf } from './zone.ts'

/** One content line of a calendar: `DTSTART;TZID=Europe/Paris:20270105T020000`. */
interface Property {
  readonly name: string
  readonly parameters: Readonly<Record<string, string>>
  readonly value: string
}

/** A time in the zone that its line says, or else in the window's. */
interface EventTime extends CalendarTime {
  readonly zone: Zone
}

/** Calendar days stay days when the clocks change; hours stay hours. */
interface Length {
  readonly days: number
  readonly ms: number
}

/**
 * The times of all events of a calendar (RFC 5545), whatever they are about. What cannot be read is refused as a whole:
 * half a calendar would let work happen on the other half's holidays.
 */
export function readCalendar(text: string, windowZone: Zone): IntervalSource[] {
  const events = eventsOf(contentLines(text))
  const zones = new Map<string, Zone>([[windowZone.name, windowZone]])
  const zoneNamed = (name: string): Zone => {
    const zone = zones.get(name) ?? zoneOf(name)
    zones.set(name, zone)
    return zone
  }
  const timesOf = (property: Property): EventTime[] => {
    const zone = property.parameters['TZID'] === undefined ? windowZone : zoneNamed(property.parameters['TZID'])
    return property.value.split(',').map((one) => ({ ...readCalendarTime(one), zone }))
  }
  // An event that replaces one date of a series stands for itself, and the series leaves that date out.
  const replaced = new Map<string, EventTime[]>()
  for (const event of events)
    for (const property of named(event, 'RECURRENCE-ID')) {
      if (property.parameters['RANGE']) throw new Unreadable('RECURRENCE-ID with RANGE is not understood')
      const uid = first(event, 'UID')?.value ?? ''
      replaced.set(uid, [...(replaced.get(uid) ?? []), ...timesOf(property)])
    }
  return events
    .filter((event) => {
      const status = first(event, 'STATUS')
      return status === undefined || wordOf(status) !== 'CANCELLED'
    })
    .map((event) => {
      const isReplacement = first(event, 'RECURRENCE-ID') !== undefined
      return eventSource(event, timesOf, isReplacement ? [] : (replaced.get(first(event, 'UID')?.value ?? '') ?? []))
    })
}

function eventSource(
  event: readonly Property[],
  timesOf: (property: Property) => EventTime[],
  replaced: readonly EventTime[],
): IntervalSource {
  const startLine = first(event, 'DTSTART')
  const start = startLine && timesOf(startLine)[0]
  if (!start) throw new Unreadable(`the event ${titleOf(event)} has no DTSTART`)
  if (first(event, 'EXRULE')) throw new Unreadable(`the event ${titleOf(event)} has an EXRULE, which is not understood`)
  const { zone } = start
  const startWallMs = wallOf(start, zone)
  const length = lengthOf(event, start, timesOf)
  const resolve = (wallMs: number): Interval => {
    const startMs = zone.toInstant(wallMs, 'first')
    const endMs = length.days > 0 ? zone.toInstant(wallMs + length.days * dayMs, 'last') : startMs
    return { startMs, endMs: endMs + length.ms }
  }
  const walls = (name: string) =>
    named(event, name)
      .flatMap(timesOf)
      .map((time) => wallOf(time, zone))
  const also = walls('RDATE')
  const rule = first(event, 'RRULE')
  if (named(event, 'RRULE').length > 1) throw new Unreadable(`the event ${titleOf(event)} has more than one RRULE`)
  const except = [...walls('EXDATE'), ...replaced.map((time) => wallOf(time, zone))]
  if (!rule) {
    const all = [startWallMs, ...also].filter((wallMs) => !except.includes(wallMs)).map(resolve)
    return (fromMs, toMs) => clip(all, fromMs, toMs)
  }
  const startsBetween = recurrence({
    startWallMs,
    rule: wordOf(rule),
    exceptWallMs: except,
    alsoWallMs: also,
    includesStart: true,
    zone,
  })
  return recurrenceSource(zone, startsBetween, (length.days + 1) * dayMs + length.ms, resolve)
}

function lengthOf(event: readonly Property[], start: EventTime, timesOf: (property: Property) => EventTime[]): Length {
  const end = first(event, 'DTEND')
  const duration = first(event, 'DURATION')
  if (end && duration) throw new Unreadable(`the event ${titleOf(event)} has both DTEND and DURATION`)
  if (duration) return readLength(duration.value)
  if (!end) return start.kind === 'date' ? { days: 1, ms: 0 } : { days: 0, ms: 0 }
  const until = timesOf(end)[0]
  if (!until || (until.kind === 'date') !== (start.kind === 'date'))
    throw new Unreadable(`the event ${titleOf(event)}: DTSTART and DTEND must both be dates, or both be times`)
  const length =
    start.kind === 'date'
      ? { days: (until.ms - start.ms) / dayMs, ms: 0 }
      : { days: 0, ms: instantOf(until, 'last') - instantOf(start, 'first') }
  if (length.days < 0 || length.ms < 0) throw new Unreadable(`the event ${titleOf(event)} ends before it starts`)
  return length
}

/** `P1D`, `PT4H30M`, `P2W`. */
function readLength(text: string): Length {
  const [whole, weeks, days, time, hours, minutes, seconds] =
    /^\+?P(?:(\d+)W)?(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/i.exec(text) ?? []
  if (whole === undefined || /P$/i.test(text) || time?.length === 1)
    throw new Unreadable(`"${text}" is not the DURATION of an event; write for example PT4H or P1D`)
  const count = (digits: string | undefined) => Number(digits ?? 0)
  return {
    days: count(weeks) * 7 + count(days),
    ms: ((count(hours) * 60 + count(minutes)) * 60 + count(seconds)) * 1_000,
  }
}

function instantOf({ ms, kind, zone }: EventTime, which: 'first' | 'last'): number {
  return kind === 'utc' ? ms : zone.toInstant(ms, which)
}

/** The sign on the wall of `zone`, wherever the time was written. */
function wallOf(time: EventTime, zone: Zone): number {
  if (time.kind === 'date') return time.ms
  if (time.kind === 'wall' && time.zone.name === zone.name) return time.ms
  return zone.toWall(instantOf(time, 'first'))
}

function eventsOf(lines: readonly Property[]): Property[][] {
  const open: string[] = []
  const events: Property[][] = []
  for (const line of lines) {
    const part = wordOf(line)
    if (line.name === 'BEGIN') {
      if (open.length === 0 && part !== 'VCALENDAR') throw new Unreadable('it does not begin with BEGIN:VCALENDAR')
      open.push(part)
      if (part === 'VEVENT') events.push([])
    } else if (line.name === 'END') {
      if (open.pop() !== part) throw new Unreadable(`END:${part} ends something that was not begun`)
    } else if (open.length === 0) throw new Unreadable('it does not begin with BEGIN:VCALENDAR')
    // Alarms inside an event, and descriptions of zones, have times that are not the event's.
    else if (open.at(-1) === 'VEVENT') events.at(-1)?.push(line)
  }
  if (open.length > 0) throw new Unreadable(`it ends inside ${open.at(-1)}: END:${open.at(-1)} is missing`)
  if (lines.length === 0) throw new Unreadable('it is empty; a calendar begins with BEGIN:VCALENDAR')
  return events
}

function contentLines(text: string): Property[] {
  const unfolded = text.replaceAll(/\r?\n[ \t]/g, '').replace(/^\uFEFF/, '')
  return unfolded
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, parameters = '', value = ''] =
        /^([A-Za-z0-9-]+)((?:;[^=:;]+=(?:"[^"]*"|[^":;]*))*):(.*)$/.exec(line) ?? []
      if (name === undefined) throw new Unreadable(`the line "${line.slice(0, 80)}" is not a line of a calendar`)
      const pairs = [...parameters.matchAll(/;([^=:;]+)=(?:"([^"]*)"|([^":;]*))/g)]
      return {
        name: name.toUpperCase(),
        parameters: Object.fromEntries(
          pairs.map(([, key = '', quoted, plain]) => [key.toUpperCase(), quoted ?? plain ?? '']),
        ),
        value: value.trim(),
      }
    })
}

/** Of what the format itself has words for, case means nothing (RFC 5545, 2): who wrote `begin:vevent` wrote an event. */
function wordOf({ value }: Property): string {
  return value.toUpperCase()
}

function named(event: readonly Property[], name: string): readonly Property[] {
  return event.filter((property) => property.name === name)
}

function first(event: readonly Property[], name: string): Property | undefined {
  return event.find((property) => property.name === name)
}

function titleOf(event: readonly Property[]): string {
  return `"${(first(event, 'SUMMARY') ?? first(event, 'UID'))?.value.slice(0, 80) ?? 'without name'}"`
}
