import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Interval, merge } from './interval.ts'
import { upcoming } from './upcoming.ts'
import { intervals, readWindow, type Weekday, type Window, type WindowText, weekdays } from './window.ts'

/**
 * Windows against a scan by the minute: the wall clock of every minute comes from Intl, and whatever starts or ends is
 * looked up in that table. FETTLE_TIME_CASES raises the number of places in time, each tried with eight windows; a failure
 * prints its seed.
 */
const cases = Number(process.env['FETTLE_TIME_CASES'] ?? 40)
const seed = process.env['FETTLE_TIME_SEED'] === undefined ? {} : { seed: Number(process.env['FETTLE_TIME_SEED']) }
const testTimeoutMs = 20_000 + cases * 400

const minute = 60_000
const day = 1440 * minute
const zones = [
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Sao_Paulo',
  'Europe/Paris',
  'America/New_York',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Chatham',
  'UTC',
  'Asia/Tehran',
]

/** The part of a case that says when something starts, as text and as a question about a day of the calendar. */
interface Days {
  readonly isOn: (dayWall: number) => boolean
  readonly fields: string
}

interface Repeated extends Days {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly lasts: number
}

interface Case {
  readonly text: WindowText
  /** Both in minutes of the wall. */
  readonly open: (scan: Scan) => Interval[]
  readonly closed: readonly ((scan: Scan) => Interval[])[]
  readonly fromMs: number
  readonly toMs: number
}

/** Every minute of a stretch of time, and what the wall shows. */
class Scan {
  readonly fromMs: number
  readonly walls: readonly number[]
  readonly #first = new Map<number, number>()
  readonly #last = new Map<number, number>()

  constructor(timeZone: string, fromMs: number, toMs: number) {
    this.fromMs = fromMs
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
    const walls: number[] = []
    for (let ms = fromMs; ms < toMs; ms += minute) {
      const wall = Date.parse(`${format.format(ms).replace(' ', 'T')}Z`)
      if (!this.#first.has(wall)) this.#first.set(wall, ms)
      this.#last.set(wall, ms)
      walls.push(wall)
    }
    this.walls = walls
  }

  instant(wall: number, which: 'first' | 'last'): number {
    const found = (which === 'first' ? this.#first : this.#last).get(wall)
    if (found !== undefined) return found
    const behind = this.walls.findIndex((seen, index) => seen > wall && (this.walls[index - 1] ?? seen) < wall)
    if (behind < 1) throw new Error(`${new Date(wall).toISOString()} is not in the scanned time`)
    const gapBegan = (this.walls[behind - 1] ?? 0) + minute
    return this.fromMs + behind * minute + (wall - gapBegan)
  }

  /** Midnights of the wall's calendar, without the edges, where things might reach out of the scan. */
  days(): number[] {
    const first = Math.ceil((this.walls[0] ?? 0) / day) * day + day
    const days: number[] = []
    for (let wall = first; wall < (this.walls.at(-1) ?? 0) - 2 * day; wall += day) days.push(wall)
    return days
  }

  between(fromWall: number, toWall: number): Interval {
    const startMs = this.instant(fromWall, 'first')
    const endMs = this.instant(toWall, 'last')
    return { startMs, endMs: endMs > startMs ? endMs : startMs + toWall - fromWall }
  }
}

const some = (from: number, to: number, most: number) =>
  fc.uniqueArray(fc.integer({ min: from, max: to }), { minLength: 1, maxLength: most })

const dayOfMonth = (wall: number) => new Date(wall).getUTCDate()
const weekdayOf = (wall: number) => new Date(wall).getUTCDay()
const isLastWeek = (wall: number) => new Date(wall).getUTCMonth() !== new Date(wall + 7 * day).getUTCMonth()
const isLastDay = (wall: number) => new Date(wall).getUTCMonth() !== new Date(wall + day).getUTCMonth()
const weekOfMonth = (wall: number) => Math.ceil(dayOfMonth(wall) / 7)

const days: fc.Arbitrary<Days> = fc.oneof(
  fc.constant({ fields: '* * *', isOn: () => true }),
  some(0, 6, 4).map((on) => ({
    fields: `* * ${on.join(',')}`,
    isOn: (wall: number) => on.includes(weekdayOf(wall)),
  })),
  some(1, 31, 6).map((on) => ({
    fields: `${on.join(',')} * *`,
    isOn: (wall: number) => on.includes(dayOfMonth(wall)),
  })),
  fc.constant({ fields: 'L * *', isOn: isLastDay }),
  fc.integer({ min: 0, max: 6 }).map((on) => ({
    fields: `* * ${on}L`,
    isOn: (wall: number) => weekdayOf(wall) === on && isLastWeek(wall),
  })),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 5 })).map(([on, week]) => ({
    fields: `* * ${on}#${week}`,
    isOn: (wall: number) => weekdayOf(wall) === on && weekOfMonth(wall) === week,
  })),
  // With both given, either is enough: so it was in the first cron, and so it is.
  fc.tuple(some(1, 31, 3), some(0, 6, 2)).map(([dates, on]) => ({
    fields: `${dates.join(',')} * ${on.join(',')}`,
    isOn: (wall: number) => dates.includes(dayOfMonth(wall)) || on.includes(weekdayOf(wall)),
  })),
)

/** Mostly short: what lasts long hides the edges of the others. */
const lasting = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 90 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 70 * 60 }) },
)

const repeated: fc.Arbitrary<Repeated> = fc
  .tuple(days, some(0, 59, 2), fc.oneof(some(0, 23, 2), some(0, 3, 2)), lasting)
  .map(([on, minutes, hours, lasts]) => ({ ...on, minutes, hours, lasts }))

const cronText = ({ minutes, hours, fields }: Repeated) => `${minutes.join(',')} ${hours.join(',')} ${fields}`

function startsOf({ isOn, minutes, hours, lasts }: Repeated, scan: Scan): Interval[] {
  return scan.days().flatMap((dayWall) =>
    isOn(dayWall)
      ? hours.flatMap((hour) =>
          minutes.map((at) => {
            const startMs = scan.instant(dayWall + (hour * 60 + at) * minute, 'first')
            return { startMs, endMs: startMs + lasts * minute }
          }),
        )
      : [],
  )
}

type Opening = Pick<WindowText, 'schedule' | 'duration'> & Pick<Case, 'open'>

const clock = (at: number) => `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`
const wallText = (wall: number) => new Date(wall).toISOString().slice(0, 16)

const byCron = repeated.map(
  (when): Opening => ({
    schedule: { cron: cronText(when) },
    duration: `${when.lasts}m`,
    open: (scan) => startsOf(when, scan),
  }),
)

const weekly = fc
  .tuple(some(0, 6, 7), fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 0, max: 1440 }))
  .filter(([, from, to]) => from !== to)
  .map(
    ([on, from, to]): Opening => ({
      schedule: { weekly: { days: on.map((one) => weekdays[one] as Weekday), from: clock(from), to: clock(to) } },
      open: (scan) =>
        scan
          .days()
          .filter((wall) => on.includes(weekdayOf(wall)))
          .map((wall) => scan.between(wall + from * minute, wall + (to > from ? to : to + 1440) * minute)),
    }),
  )

const rules: fc.Arbitrary<{ readonly rule: string; readonly isOn: Days['isOn'] }> = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map((on) => ({
    rule: `FREQ=WEEKLY;BYDAY=${weekdays[on]?.slice(0, 2).toUpperCase()}`,
    isOn: (wall: number) => weekdayOf(wall) === on,
  })),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 4 })).map(([on, week]) => ({
    rule: `FREQ=MONTHLY;BYDAY=${week}${weekdays[on]?.slice(0, 2).toUpperCase()}`,
    isOn: (wall: number) => weekdayOf(wall) === on && weekOfMonth(wall) === week,
  })),
  fc.integer({ min: 1, max: 9 }).map((every) => ({
    rule: `FREQ=DAILY;INTERVAL=${every}`,
    isOn: (wall: number) => (Math.floor(wall / day) - Date.UTC(1995, 0, 1) / day) % every === 0,
  })),
  fc.constant({ rule: 'FREQ=MONTHLY;BYMONTHDAY=-1', isOn: isLastDay }),
)

const byRule = fc.tuple(rules, fc.integer({ min: 0, max: 1439 }), lasting).map(
  ([{ rule, isOn }, at, lasts]): Opening => ({
    schedule: { rrule: `DTSTART:19950101T${clock(at).replace(':', '')}00\nRRULE:${rule}` },
    duration: `${lasts}m`,
    open: (scan) => startsOf({ isOn, fields: '', minutes: [at % 60], hours: [Math.floor(at / 60)], lasts }, scan),
  }),
)

const always: fc.Arbitrary<Opening> = fc.constant({
  schedule: { always: true },
  open: ({ fromMs, walls }) => [{ startMs: fromMs, endMs: fromMs + walls.length * minute }],
})

const once = (aroundMs: number) =>
  fc
    .tuple(fc.integer({ min: -2 * 1440, max: 1440 }), fc.integer({ min: 1, max: 1440 }))
    .map(([from, lasts]): Opening => {
      const [fromWall, toWall] = [aroundMs + from * minute, aroundMs + (from + lasts) * minute]
      return {
        schedule: { once: { from: wallText(fromWall), to: wallText(toWall) } },
        open: (scan) => [scan.between(fromWall, toWall)],
      }
    })

type Exclusion = {
  readonly text: NonNullable<WindowText['exclusions']>[number]
  readonly closed: Case['closed'][number]
}

const exclusion = (aroundMs: number): fc.Arbitrary<Exclusion> =>
  fc.oneof(
    repeated.map((when) => ({
      text: { cron: cronText(when), duration: `${when.lasts}m` },
      closed: (scan: Scan) => startsOf(when, scan),
    })),
    fc.tuple(fc.integer({ min: -2, max: 1 }), fc.integer({ min: 0, max: 1 })).map(([from, more]) => {
      const first = Math.floor(aroundMs / day + from) * day
      const last = first + more * day
      return {
        text: { from: wallText(first).slice(0, 10), to: wallText(last).slice(0, 10) },
        // Not by its edges: a minute is excluded if its own date is.
        closed: (scan: Scan) =>
          scan.walls.flatMap((wall, index) => {
            const startMs = scan.fromMs + index * minute
            return wall >= first && wall < last + day ? [{ startMs, endMs: startMs + minute }] : []
          }),
      }
    }),
  )

/** Some instant in thirty years, mostly one at which the clocks of the zone change. */
const moments = zones.map((timeZone) => ({ timeZone, changes: changesOf(timeZone) }))

const moment = fc
  .tuple(fc.constantFrom(...moments), fc.nat(), fc.integer({ min: 0, max: 9 }))
  .map(([{ timeZone, changes }, pick, luck]) => {
    const anywhere = Date.UTC(1996, 0, 1) + (pick % (30 * 365)) * day
    // Of Samoa's changes one is like no other.
    if (timeZone === 'Pacific/Apia' && luck < 5) return { timeZone, aroundMs: Date.UTC(2011, 11, 30, 10) }
    return { timeZone, aroundMs: luck < 9 ? (changes[pick % changes.length] ?? anywhere) : anywhere }
  })

/** One place in time, and windows to try there: reading the wall is what takes the time. */
interface Place {
  readonly timeZone: string
  readonly cases: readonly Case[]
}

const aPlace: fc.Arbitrary<Place> = moment.chain(({ timeZone, aroundMs }) =>
  fc.array(aCase(timeZone, aroundMs), { minLength: 8, maxLength: 8 }).map((some): Place => ({ timeZone, cases: some })),
)

function aCase(timeZone: string, aroundMs: number): fc.Arbitrary<Case> {
  return fc
    .tuple(
      fc.oneof(byCron, byCron, weekly, weekly, byRule, once(aroundMs), always),
      fc.array(exclusion(aroundMs), { maxLength: 2 }),
      fc.integer({ min: -1440, max: 0 }),
      fc.integer({ min: 1, max: 2 * 1440 }),
    )
    .map(([{ open, ...opening }, exclusions, from, length]) => {
      const fromMs = Math.floor(aroundMs / minute + from) * minute
      return {
        text: { timeZone, ...opening, exclusions: exclusions.map(({ text }) => text) },
        open,
        closed: exclusions.map(({ closed }) => closed),
        fromMs,
        toMs: fromMs + length * minute,
      }
    })
}

/** By the day, because only which instants are interesting depends on it. */
function changesOf(timeZone: string): number[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const offset = (ms: number) => format.format(ms).split(' ').at(-1)
  const changes: number[] = []
  let before = offset(Date.UTC(1996, 0, 1))
  for (let ms = Date.UTC(1996, 0, 2); ms < Date.UTC(2026, 0, 1); ms += day) {
    const now = offset(ms)
    if (now === before) continue
    before = now
    let [low, high] = [ms - day, ms]
    while (high - low > minute) {
      const middle = Math.floor((low + high) / 2 / minute) * minute
      if (offset(middle) === now) high = middle
      else low = middle
    }
    changes.push(high)
  }
  return changes
}

function windowOf(text: WindowText): Window {
  const { window, problems } = readWindow(text)
  if (!window) throw new Error(JSON.stringify({ text, problems }))
  return window
}

function openMinutes(pieces: readonly Interval[], fromMs: number, toMs: number): boolean[] {
  const open = Array.from({ length: (toMs - fromMs) / minute }, () => false)
  for (const { startMs, endMs } of pieces)
    open.fill(true, Math.max(0, (startMs - fromMs) / minute), Math.max(0, (endMs - fromMs) / minute))
  return open
}

/** `+90 -30`: ninety minutes open, then thirty closed. */
function stretches(open: readonly boolean[]): string {
  const text: string[] = []
  for (let index = 0, begin = 0; index <= open.length; index++)
    if (index > begin && open[index] !== open[begin]) {
      text.push(`${open[begin] ? '+' : '-'}${index - begin}`)
      begin = index
    }
  return text.join(' ')
}

test(
  'windows are what a scan by the minute says, in ten zones and thirty years',
  () => {
    fc.assert(
      fc.property(aPlace, (place) => {
        const scanFrom = Math.min(...place.cases.map(({ fromMs }) => fromMs)) - 5 * day
        const scanTo = Math.max(...place.cases.map(({ toMs }) => toMs)) + 5 * day
        const scan = new Scan(place.timeZone, scanFrom, scanTo)
        for (const { text, open, closed, fromMs, toMs } of place.cases) {
          const isOpen = openMinutes(open(scan), scanFrom, scanTo)
          for (const taken of closed)
            for (const [index, isTaken] of openMinutes(taken(scan), scanFrom, scanTo).entries())
              if (isTaken) isOpen[index] = false
          const expected = isOpen.slice((fromMs - scanFrom) / minute, (toMs - scanFrom) / minute)
          const found = openMinutes(intervals(windowOf(text), fromMs, toMs), fromMs, toMs)
          expect(stretches(found), `${JSON.stringify(text)} from ${new Date(fromMs).toISOString()}`).toBe(
            stretches(expected),
          )
        }
      }),
      { numRuns: cases, endOnFailure: true, ...seed },
    )
  },
  testTimeoutMs,
)

test(
  'intervals are sorted, disjoint, inside what was asked, and the same however the time is cut',
  () => {
    fc.assert(
      fc.property(aPlace, fc.double({ min: 0, max: 1, noNaN: true }), (place, share) => {
        for (const { text, fromMs, toMs } of place.cases) {
          const window = windowOf(text)
          const whole = intervals(window, fromMs, toMs)
          for (const [index, { startMs, endMs }] of whole.entries()) {
            expect(startMs).toBeLessThan(endMs)
            expect(startMs).toBeGreaterThan(whole[index - 1]?.endMs ?? fromMs - 1)
            expect(endMs).toBeLessThanOrEqual(toMs)
          }
          const cutMs = fromMs + Math.floor((toMs - fromMs) * share)
          expect(merge([...intervals(window, fromMs, cutMs), ...intervals(window, cutMs, toMs)])).toEqual(whole)
          // Whoever read it, whatever was asked before: the answer is the same.
          expect(intervals(windowOf(text), fromMs, toMs)).toEqual(whole)
          expect(intervals(window, toMs, fromMs)).toEqual([])
        }
      }),
      { numRuns: Math.min(cases, 500), endOnFailure: true, ...seed },
    )
  },
  testTimeoutMs,
)

test('what comes next is the beginning of what comes', () => {
  fc.assert(
    fc.property(aPlace, fc.integer({ min: 1, max: 6 }), (place, count) => {
      for (const { text, fromMs } of place.cases.slice(0, 2)) {
        const window = windowOf(text)
        const next = upcoming(window, fromMs, count)
        expect(next.length).toBeLessThanOrEqual(count)
        const toMs = (next.at(-1)?.endMs ?? 0) + 1
        if (next.length > 0 && Number.isFinite(toMs))
          expect(intervals(window, fromMs, toMs).slice(0, count)).toEqual(next)
      }
    }),
    { numRuns: Math.min(cases, 100), endOnFailure: true, ...seed },
  )
})
