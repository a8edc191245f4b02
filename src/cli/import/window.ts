import { readWindow, weekdays } from '../../time/index.ts'
import {
  carried,
  differs,
  type Finding,
  failed,
  type NamedWindow,
  notNeeded,
  type Part,
  type Seen,
  stopped,
  unreadable,
} from './finding.ts'
import { readGoList, readTimeOfDay, readWeekday } from './go-values.ts'
import type { Settings } from './settings.ts'

type Weekday = (typeof weekdays)[number]

const minutesOfDay = 24 * 60

/** From and to in minutes of the day, the end not included. */
interface Stretch {
  readonly from: number
  readonly to: number
}

/**
 * When nodes may leave. kured and Kustodian ask for the weekday of the moment, also between midnight and the end of a night:
 * Mon 22:00 to 02:00 is the early and the late Monday, and never Tuesday. What is printed means the same.
 */
export function windowPart(
  settings: Settings,
  daysFlag: string,
  program: { readonly name: string; readonly executable: string },
): Part {
  const daysSeen = settings.all(daysFlag)
  const [start, end, zone] = ['start-time', 'end-time', 'time-zone'].map((flag) => settings.one(flag))
  const all = [...daysSeen, ...[start, end, zone].flatMap((seen) => seen ?? [])]
  if (all.length === 0) return { findings: [] }
  const problems: Finding[] = []
  const days = daysOf(daysSeen, problems)
  const startsAt = timeOf(start, 0, problems)
  const endsAt = timeOf(end, minutesOfDay * 60 - 1, problems)
  const timeZone = zone?.text === undefined || zone.text === '' ? 'UTC' : zone.text
  const probe = readWindow({ timeZone, schedule: { always: true } })
  if (zone && probe.problems.length > 0) problems.push(stopped(zone, probe.problems[0]?.message ?? ''))
  if (problems.length > 0) return failed(all, problems, 'there is no window')

  const stretches = stretchesOf(startsAt, endsAt)
  if (stretches.length === 0)
    return {
      findings: all.map((seen) => stopped(seen, 'the window lasts no whole minute; write times that are apart')),
    }
  const isDaily = days.length === weekdays.length
  if (isDaily && stretches.every(({ from, to }) => to - from === minutesOfDay))
    return { findings: all.map((seen) => notNeeded(seen, 'it means all the time, as without a window')) }

  const windows = windowsOf(stretches, days, isDaily, timeZone, program.executable)
  const names = windows.map(({ name }) => name)
  const [late, early] = [windows[1]?.spec.schedule.weekly?.from, windows[0]?.spec.schedule.weekly?.to]
  const remark = `${windows.map(windowText).join('; ')}. That is what ${program.name} did: it asks for the weekday of the moment. For nights that begin on these days write one window from ${late} to ${early}`
  // The first one tells it all.
  const judge = (seen: Seen, index: number) => {
    const text =
      index > 0 ? `MaintenanceWindow ${names.join(', ')}: see ${all[0]?.as}` : windows.map(windowText).join('; ')
    return windows.length === 1 ? carried(seen, text) : differs(seen, index > 0 ? text : remark)
  }
  return { findings: all.map(judge), windows, budget: { defaults: { windows: names } } }
}

function daysOf(seen: readonly Seen[], problems: Finding[]): readonly Weekday[] {
  if (seen.length === 0) return weekdays
  const found = new Set<number>()
  for (const one of seen) {
    const numbers = readGoList(one.text ?? '')?.map((text) => (text === '' ? [] : [readWeekday(text)]))
    if (!numbers || numbers.flat().includes(undefined))
      problems.push(unreadable(one, 'a list of weekdays; write for example mon,tue'))
    for (const number of numbers?.flat() ?? []) if (number !== undefined) found.add(number)
  }
  const [first] = seen
  if (found.size === 0 && problems.length === 0 && first)
    problems.push(stopped(first, 'it names no day, so nothing ever happens; write for example mon,tue'))
  return weekdays.filter((_, number) => found.has(number))
}

function timeOf(seen: Seen | undefined, otherwise: number, problems: Finding[]): number {
  if (!seen) return otherwise
  const seconds = readTimeOfDay(seen.text ?? '')
  if (seconds === undefined) problems.push(unreadable(seen, 'a time of day; write for example 22:00'))
  return seconds ?? otherwise
}

/** Whole minutes within; the second of the end still belongs to it. */
function stretchesOf(startsAt: number, endsAt: number): Stretch[] {
  const from = Math.ceil(startsAt / 60)
  const to = Math.floor((endsAt + 1) / 60)
  const found =
    startsAt <= endsAt
      ? [{ from, to }]
      : [
          { from: 0, to },
          { from, to: minutesOfDay },
        ]
  // Not a second lies between the end and the start.
  const whole = found.length === 2 && startsAt <= endsAt + 1 ? [{ from: 0, to: minutesOfDay }] : found
  return whole.filter((stretch) => stretch.from < stretch.to)
}

function windowsOf(
  stretches: readonly Stretch[],
  days: readonly Weekday[],
  isDaily: boolean,
  timeZone: string,
  name: string,
): NamedWindow[] {
  const window = (suffix: string, from: number, to: number): NamedWindow => ({
    name: `${name}${suffix}`,
    spec: { timeZone, schedule: { weekly: { days: [...days], from: clock(from), to: clock(to) } } },
  })
  const [first, second] = stretches
  if (first && second)
    // Every night is the same as the early and the late hours of every day.
    return isDaily
      ? [window('', second.from, first.to)]
      : [window('-morning', first.from, first.to), window('-evening', second.from, second.to)]
  return stretches.map(({ from, to }) => window('', from, to))
}

function windowText({ name, spec: { timeZone, schedule } }: NamedWindow): string {
  const { days = [], from = '', to = '' } = schedule.weekly ?? {}
  return `MaintenanceWindow ${name}: ${days.join(', ')} ${from} to ${to} ${timeZone}`
}

function clock(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}
