import { isState, type State } from '../names.ts'
import type { NotifyInstance, ProfileState, ProfilesConfig } from '../plugin.ts'
import type { ProfileData } from './data.ts'
import { type GoTime, goTimeOf, isZero, zeroTime } from './go-time.ts'
import type { Pending, Progress } from './progress.ts'

/** A message that went out or was given up, and when. */
export interface Sent extends Pending {
  readonly sentMs: number
}

type Times = Map<string, GoTime>

/** More than this many messages wait only if somebody has not listened for long; then the oldest are let go. */
const mostPending = 20
/** Stands among the names of instances; no chain can name one like this. */
const overdueMark = '&&overdue'

/** The one that the file has for a message; none if the file has changed since. */
export function instanceOf(
  { profiles }: ProfilesConfig,
  { profile, state, instance }: Pending,
): NotifyInstance | undefined {
  const here = profiles.get(profile)?.states[state]
  return [...(here?.notify ?? []), ...(here?.overdue ?? [])].find(({ name }) => name === instance)
}

/** What was sent meanwhile is no longer pending. The original's list has one time per instance, ours one per profile too. */
export function noteSent(
  progress: Progress,
  times: Times,
  sent: readonly Sent[],
  profiles: ReadonlyMap<string, ProfileData>,
): Progress {
  if (sent.length === 0) return progress
  const marks = structuredClone(progress.sent)
  for (const one of sent) {
    const { profile, instance } = one
    const ms = countsFromMs(one, profiles.get(profile))
    // Never back: of two messages the older one may go out last.
    if (ms > (times.get(instance)?.ms ?? 0)) times.set(instance, goTimeOf(ms))
    const own = Date.parse(marks[profile]?.[instance] ?? one.at)
    marks[profile] = { ...marks[profile], [instance]: goTimeOf(Math.max(ms, own)).text }
  }
  const pending = progress.pending.filter((one) => !sent.some((other) => isSame(one, other)))
  return { ...progress, pending, sent: marks }
}

/**
 * While the profile stays where it was, from when it went out: what repeats does not follow at once on what was late.
 * Once it has left, from when it was due, or the schedule would take it for a message of the state that came after.
 */
function countsFromMs({ at, transition, sentMs }: Sent, now: ProfileData | undefined): number {
  return now !== undefined && transition === now.transition.text ? sentMs : Date.parse(at)
}

function isSame(one: Pending, other: Pending): boolean {
  return one.profile === other.profile && one.instance === other.instance && one.at === other.at
}

/** A profile, and whether any of those on its node has it in maintenance. */
export interface Moment extends ProfileData {
  readonly isInMaintenance: boolean
}

/** Adds the messages of a profile's state that are due now. Each instance that is considered gets an entry in `times`. */
export function addDue(
  progress: Progress,
  times: Times,
  notify: readonly NotifyInstance[],
  profile: string,
  { transition, current, previous, isInMaintenance }: Moment,
  nowMs: number,
): Progress {
  if (!(isState(current) && isState(previous))) return progress
  const due = notify.filter(({ name, schedule }) => {
    if (!times.has(name)) times.set(name, zeroTime)
    if (isWaiting(progress, profile, name, current)) return false
    const transitionMs = isZero(transition) ? 0 : transition.ms
    return schedule.isDue({
      nowMs,
      current,
      previous,
      transitionMs,
      lastSentMs: lastSentMs(progress, times, profile, name),
    })
  })
  return withPending(
    progress,
    due,
    { profile, state: current, previous, transition: transition.text, isInMaintenance },
    nowMs,
  )
}

/** Once per stay in the state: whether it has lasted too long, and the messages for that. */
export function addOverdue(
  progress: Progress,
  { deadlineMs, overdue }: ProfileState,
  profile: string,
  { transition, current, isInMaintenance }: Moment,
  nowMs: number,
): { readonly progress: Progress; readonly isOverdue: boolean; readonly isNew: boolean } {
  const isOverdue = deadlineMs !== undefined && nowMs - transition.ms > deadlineMs && isState(current)
  const told = progress.sent[profile]?.[overdueMark]
  if (!isOverdue || (told !== undefined && Date.parse(told) >= transition.ms))
    return { progress, isOverdue, isNew: false }
  const sent = { ...progress.sent, [profile]: { ...progress.sent[profile], [overdueMark]: goTimeOf(nowMs).text } }
  const about = { profile, state: current, previous: current, transition: transition.text, isInMaintenance }
  return {
    progress: withPending({ ...progress, sent }, overdue, about, nowMs),
    isOverdue,
    isNew: true,
  }
}

/** What somebody else has sent since, as the original does after us, or what the file no longer has, is not sent. */
export function letGo(progress: Progress, times: Times, hasInstance: (pending: Pending) => boolean): Progress {
  const pending = progress.pending.filter((one) => {
    const shared = times.get(one.instance)
    const isOurs = Object.values(progress.sent).some((marks) => marks[one.instance] === shared?.text)
    const isSentByOther = shared !== undefined && !isOurs && shared.ms >= Date.parse(one.at)
    return hasInstance(one) && !isSentByOther
  })
  return pending.length === progress.pending.length ? progress : { ...progress, pending }
}

/**
 * Of profiles that the node no longer has, nothing is kept but that a time in the original's list is theirs: it would
 * pass for one that the original wrote, and silence the others.
 */
export function only(progress: Progress, profiles: ReadonlySet<string>, times: Times): Progress {
  const kept = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => profiles.has(name)))
  const sent = Object.entries(progress.sent).flatMap(([name, marks]): [string, Record<string, string>][] => {
    if (profiles.has(name)) return [[name, marks]]
    const listed = Object.entries(marks).filter(([instance, at]) => times.get(instance)?.text === at)
    return listed.length === 0 ? [] : [[name, Object.fromEntries(listed)]]
  })
  return {
    inFlight: kept(progress.inFlight),
    aborting: kept(progress.aborting),
    pending: progress.pending.filter(({ profile }) => profiles.has(profile)),
    sent: Object.fromEntries(sent),
  }
}

function isWaiting({ pending }: Progress, profile: string, instance: string, state: State): boolean {
  return pending.some((one) => one.profile === profile && one.instance === instance && one.state === state)
}

function withPending(
  progress: Progress,
  due: readonly NotifyInstance[],
  about: Omit<Pending, 'instance' | 'at'>,
  nowMs: number,
): Progress {
  if (due.length === 0) return progress
  const { text: at } = goTimeOf(nowMs)
  const added = due.map(({ name }): Pending => ({ ...about, instance: name, at }))
  return { ...progress, pending: [...progress.pending, ...added].slice(-mostPending) }
}

/** Two profiles that share an instance do not silence each other; what the original sent counts for both. */
function lastSentMs({ sent }: Progress, times: Times, profile: string, instance: string): number | undefined {
  const own = sent[profile]?.[instance]
  const shared = times.get(instance)
  const isOfOther = Object.entries(sent).some(([name, marks]) => name !== profile && marks[instance] === shared?.text)
  const known = [
    ...(own === undefined ? [] : [Date.parse(own)]),
    ...(shared === undefined || isZero(shared) || isOfOther ? [] : [shared.ms]),
  ]
  return known.length === 0 ? undefined : Math.max(...known)
}
