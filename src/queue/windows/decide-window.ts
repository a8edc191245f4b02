import type { MaintenanceWindow } from '../../api/index.ts'
import {
  durationMs,
  type ExclusionText,
  excluded,
  type Interval,
  intervals,
  merge,
  openSince,
  type ReadWindow,
  readWindow,
  subtract,
  upcoming,
  type WindowProblem,
} from '../../time/index.ts'

/** Where a window's calendar lies. */
export interface CalendarRef {
  /** Default: the controller's own. */
  readonly namespace?: string | undefined
  readonly name: string
  readonly key: string
}

/** The text of a calendar, or why there is none. */
export type CalendarOf = (ref: CalendarRef) => { readonly text: string } | { readonly problem: string }

/** Whether nodes may be claimed now, as far as windows are concerned, and when that changes. */
export interface WindowState {
  readonly isOpen: boolean
  /** From then on nothing is claimed: the window ends, or too little of it is left. */
  readonly closesAtMs?: number
  readonly opensAtMs?: number
  /** Why it is closed though its schedule might say otherwise. */
  readonly problem?: string
}

export interface WindowView extends WindowState {
  readonly name: string
}

/** The times of one window, looked up once and good for a while. */
export interface Outlook {
  /** The next times at which it is open. */
  readonly open: readonly Interval[]
  /** What its exclusions take. Named together with other windows it takes that from them as well. */
  readonly excluded: readonly Interval[]
  /** How long it, or those that follow it without a gap, have to stay open after a claim. */
  readonly minRemainingMs: number
  readonly problem?: string
  /** From then on it must be looked up again. */
  readonly refreshAtMs: number
}

/** How far ahead one look goes. More than two, so that windows which follow each other closely are seen as one. */
const lookAhead = 8
const dayMs = 86_400_000
/** Exclusions are known for a year, and looked up again long before it is over. */
const [planMs, planAnewMs] = [366 * dayMs, 30 * dayMs]
const always: readonly Interval[] = [{ startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }]

export function readWindowObject({ spec }: MaintenanceWindow, calendarOf: CalendarOf): ReadWindow {
  const exclusions = spec.exclusions?.map(
    ({ from, to, cron, duration, ics }): ExclusionText => ({
      from,
      to,
      cron,
      duration,
      calendar: ics && calendarOf(ics.configMapRef),
    }),
  )
  return readWindow({ timeZone: spec.timeZone, schedule: spec.schedule, duration: spec.duration, exclusions })
}

export function outlookOf(object: MaintenanceWindow, read: ReadWindow, nowMs: number): Outlook {
  const refreshTomorrow = nowMs + dayMs
  const { window } = read
  if (!window) return unknownOutlook(problemText(object, read.problems), Number.POSITIVE_INFINITY)
  const ahead = orProblem(() => ({
    open: upcoming(window, nowMs, lookAhead),
    excluded: excluded(window, nowMs, nowMs + planMs),
  }))
  if ('problem' in ahead)
    return unknownOutlook(`${nameOf(object)} cannot be computed: ${ahead.problem}`, refreshTomorrow)
  return {
    ...ahead,
    minRemainingMs: minRemainingOf(object.spec),
    refreshAtMs: Math.min(ahead.open[0]?.endMs ?? refreshTomorrow, nowMs + planAnewMs),
  }
}

/** One that was deleted or renamed may have closed the others of its list, so without it they are closed too. */
export function absentOutlook(name: string): Outlook {
  return unknownOutlook(
    `MaintenanceWindow ${name} does not exist, and what it would exclude is not known; create it, or take its name from the list`,
    Number.POSITIVE_INFINITY,
  )
}

/**
 * For whoever may not read a window's calendars: the times that the controller wrote down. While the window itself is open
 * it excludes nothing; at all other times it might.
 */
export function writtenOutlook(object: MaintenanceWindow): Outlook {
  const { status, spec, metadata } = object
  const calendars = status?.conditions?.find(({ type }) => type === 'ExclusionSourceReady')
  if (!status || !calendars || status.observedGeneration !== metadata.generation)
    return unknownOutlook(
      `${nameOf(object)} has no status yet, and its calendars cannot be read from here`,
      Number.POSITIVE_INFINITY,
    )
  if (calendars.status !== 'True')
    return unknownOutlook(`${nameOf(object)} is ${calendars.message}`, Number.POSITIVE_INFINITY)
  const spans = [
    ...(status.open ? [{ start: status.currentStart, end: status.currentEnd }] : []),
    ...(status.next ?? []),
  ]
  const open = merge(
    spans.map(({ start, end }) => ({
      startMs: start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start),
      endMs: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end),
    })),
  )
  return {
    open,
    excluded: subtract(always, open),
    minRemainingMs: minRemainingOf(spec),
    refreshAtMs: Number.POSITIVE_INFINITY,
  }
}

function minRemainingOf({ minRemaining }: MaintenanceWindow['spec']): number {
  return minRemaining === undefined ? 0 : durationMs(minRemaining)
}

/** What it excludes is not known either, and that might be now. */
function unknownOutlook(problem: string, refreshAtMs: number): Outlook {
  return { open: [], excluded: always, minRemainingMs: 0, problem, refreshAtMs }
}

/**
 * When nodes may be claimed. Windows that touch are one, so what has to remain is counted to the end of the last of them;
 * while a window is open it is its own `minRemaining` that counts. So no window ever allows less because of another, but
 * for what the other one excludes: that is taken from all of them.
 */
function claimableIn(outlooks: readonly Outlook[]): Interval[] {
  const shut = merge(outlooks.flatMap((outlook) => outlook.excluded))
  const left = outlooks.map(({ open, minRemainingMs }) => ({ open: subtract(open, shut), minRemainingMs }))
  const joined = merge(left.flatMap(({ open }) => open))
  return merge(
    left.flatMap(({ open, minRemainingMs }) =>
      open.map(({ startMs, endMs }) => {
        const lastEndMs = joined.find((one) => endMs <= one.endMs)?.endMs ?? endMs
        return { startMs, endMs: Math.min(endMs, lastEndMs - minRemainingMs) }
      }),
    ),
  )
}

/** Several windows are open when one of them is, and none of them excludes it. */
export function stateAt(outlooks: readonly Outlook[], nowMs: number): WindowState {
  const claimable = claimableIn(outlooks)
  const current = claimable.find(({ startMs, endMs }) => startMs <= nowMs && nowMs < endMs)
  const next = claimable.find(({ startMs }) => startMs > nowMs)
  const problems = outlooks.flatMap(({ problem }) => problem ?? [])
  return {
    isOpen: current !== undefined,
    ...(current && Number.isFinite(current.endMs) ? { closesAtMs: current.endMs } : {}),
    ...(next ? { opensAtMs: next.startMs } : {}),
    ...(problems.length > 0 ? { problem: problems.join('; ') } : {}),
  }
}

/** One window at one moment. A window that cannot be read is closed, and so is one with a calendar that cannot. */
export function viewWindow(object: MaintenanceWindow, calendarOf: CalendarOf, nowMs: number): WindowView {
  const outlook = outlookOf(object, readWindowObject(object, calendarOf), nowMs)
  return { name: object.metadata.name ?? '', ...stateAt([outlook], nowMs) }
}

export function problemText(object: MaintenanceWindow, problems: readonly WindowProblem[]): string {
  const list = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return `${nameOf(object)} cannot be read: ${list}`
}

/** Where a window stands in its own schedule: what its status and people are told, without minRemaining. */
export interface Timetable {
  readonly current?: { readonly startMs?: number; readonly endMs?: number }
  readonly next: readonly { readonly startMs: number; readonly endMs?: number }[]
}

export function timetableOf({ window }: ReadWindow, nowMs: number, count: number): Timetable {
  if (!window) return { next: [] }
  const isOpen = intervals(window, nowMs, nowMs + 1).length > 0
  const ahead = upcoming(window, nowMs, isOpen ? count + 1 : count)
  const [current, next] = isOpen ? [ahead[0], ahead.slice(1)] : [undefined, ahead]
  const startMs = current && openSince(window, nowMs)
  return {
    ...(current ? { current: { ...(startMs === undefined ? {} : { startMs }), ...finiteEnd(current) } } : {}),
    next: next.map((one) => ({ startMs: one.startMs, ...finiteEnd(one) })),
  }
}

function finiteEnd({ endMs }: Interval): { readonly endMs?: number } {
  return Number.isFinite(endMs) ? { endMs } : {}
}

function nameOf({ metadata }: MaintenanceWindow): string {
  return `MaintenanceWindow ${metadata.name}`
}

/** One window that a package gives up on must be closed itself, not stop the whole queue. */
function orProblem<T>(look: () => T): T | { readonly problem: string } {
  try {
    return look()
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
