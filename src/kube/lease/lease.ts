import type { Clock } from '../../time/index.ts'
import type { KubeClient } from '../door.ts'
import { type LeaderTerm, momentOf, Term } from './leader-term.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { LeaseWitness } from './lease-witness.ts'

export interface LeaseTimes {
  /** How long others wait after the last sign of life. Default 15 s. */
  readonly leaseDurationMs: number
  /** How long a leader goes on without a successful renewal. Must be less than the duration; default 10 s. */
  readonly renewDeadlineMs: number
  /** Between renewals, and between a candidate's looks. Default 3 s. */
  readonly renewEveryMs: number
}

export interface LeaderOptions extends Partial<LeaseTimes> {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>
  readonly clock: Clock
  /** In [0, 1), as Math.random. */
  readonly random: () => number
  readonly lease: { readonly namespace: string; readonly name: string }
  /** Who this is, for people; a random suffix makes it unique, so that a restarted pod is not taken for its past. */
  readonly identity: string
  /** Ends the candidacy, and the term if there is one. */
  readonly signal: AbortSignal
  /** Give the Lease back at the end, so that the next one need not wait. Default true. */
  readonly releaseOnStop?: boolean
  /** Has watched the Lease since before this candidacy. */
  readonly witness?: Pick<LeaseWitness, 'seen'>
  readonly onEvent?: (event: LeaderEvent) => void
}

export type LeaderEvent =
  /** `before`: who held it last and did not give it back; else empty. */
  | { readonly type: 'acquired'; readonly token: number; readonly identity: string; readonly before: string }
  /** `error` is what the work threw, if it did. */
  | { readonly type: 'ended'; readonly token: number; readonly reason: unknown; readonly error?: unknown }
  /** Somebody else holds it, told once for each, and again after trouble. Empty: nobody does, but nobody gave it back. */
  | { readonly type: 'waits'; readonly holder: string }
  /** A request failed; it will be tried again. */
  | { readonly type: 'trouble'; readonly error: unknown }

/**
 * Campaigns for the Lease, runs the work while leading, and campaigns again when leadership is lost, until the signal
 * aborts or the work returns. What the work throws while it leads is thrown here, after the Lease was given back.
 *
 * At no moment two terms are safe, even if requests hang or answers get lost: a leader counts from when it sent its
 * last successful renewal and stops after `renewDeadlineMs`; others count from when they saw it, which is later, and
 * wait for `leaseDurationMs`, which is longer. The difference is what clocks of different speed may use up. Work that
 * ignores its signal gets no successor in this process: the next campaign starts when it has returned.
 */
export async function runAsLeader(options: LeaderOptions, work: (term: LeaderTerm) => Promise<void>): Promise<void> {
  const times = timesOf(options)
  const keeper = new LeaseKeeper(options, times)
  while (!options.signal.aborted) {
    const term = await campaign(options, times, keeper)
    if (!term) return
    const { identity, before } = keeper
    options.onEvent?.({ type: 'acquired', token: term.token, identity, before })
    const end = await lead(options, times, keeper, term, work)
    const error = 'error' in end ? { error: end.error } : {}
    options.onEvent?.({ type: 'ended', token: term.token, reason: term.signal.reason, ...error })
    if (end.isWorkDone && 'error' in end) throw end.error
    if (end.isWorkDone) return
  }
}

async function campaign(options: LeaderOptions, times: LeaseTimes, keeper: LeaseKeeper): Promise<Term | undefined> {
  const { clock, signal } = options
  let told: string | undefined
  while (!signal.aborted) {
    let waitMs = times.renewEveryMs
    try {
      waitMs = Math.min(waitMs, await keeper.look(signal))
      if (waitMs === 0) {
        const sent = momentOf(clock)
        const token = await keeper.take(signal)
        if (token !== undefined) {
          const term = new Term(clock, token, times.renewDeadlineMs, sent)
          if (term.isSafe()) return term
        }
        waitMs = times.renewEveryMs
      } else if (keeper.holder !== told) {
        told = keeper.holder
        options.onEvent?.({ type: 'waits', holder: told })
      }
    } catch (error) {
      if (signal.aborted) return undefined
      told = undefined
      options.onEvent?.({ type: 'trouble', error })
    }
    await pause(options, waitMs, signal)
  }
  return undefined
}

interface End {
  /** The work ended by itself while it was leading. */
  readonly isWorkDone: boolean
  readonly error?: unknown
}

async function lead(
  options: LeaderOptions,
  times: LeaseTimes,
  keeper: LeaseKeeper,
  term: Term,
  work: (term: LeaderTerm) => Promise<void>,
): Promise<End> {
  const onStop = () => term.end('the process is stopping')
  options.signal.addEventListener('abort', onStop, { once: true })
  if (options.signal.aborted) onStop()
  const working = new AbortController()
  const renewals = keepRenewing(options, times, keeper, term, working.signal)
  let failure: { readonly error?: unknown } = {}
  try {
    await work(term)
  } catch (error) {
    failure = { error }
  }
  const isWorkDone = term.isSafe()
  term.end('its work has ended')
  working.abort()
  options.signal.removeEventListener('abort', onStop)
  const isHeld = await renewals
  if (isHeld && (isWorkDone || options.signal.aborted) && options.releaseOnStop !== false) {
    await keeper.release(term.token).catch((error: unknown) => options.onEvent?.({ type: 'trouble', error }))
  }
  return { isWorkDone, ...failure }
}

/**
 * Until the work has returned, even when it was told to stop: while it winds up, nobody else should begin.
 * Answers whether the Lease is still held, as far as is known.
 */
async function keepRenewing(
  options: LeaderOptions,
  times: LeaseTimes,
  keeper: LeaseKeeper,
  term: Term,
  working: AbortSignal,
): Promise<boolean> {
  let waitMs = times.renewEveryMs
  for (;;) {
    await pause(options, waitMs, working)
    if (working.aborted) return true
    if (!term.isSafe() && !options.signal.aborted) return false
    const sent = momentOf(options.clock)
    try {
      const isHeld = await keeper.renew(term.token, working)
      if (!isHeld) {
        term.end('the Lease was taken, edited or deleted by somebody else')
        return false
      }
      term.extend(sent)
      waitMs = times.renewEveryMs
    } catch (error) {
      if (working.aborted) return true
      options.onEvent?.({ type: 'trouble', error })
      waitMs = times.renewEveryMs / 4
    }
  }
}

/** Up to a fifth longer at random, so that candidates do not ask in step. Returns early when the signal aborts. */
async function pause({ clock, random }: LeaderOptions, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms * (1 + 0.2 * random()), signal).catch(() => undefined)
}

function timesOf(options: LeaderOptions): LeaseTimes {
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, renewEveryMs = 3_000 } = options
  if (!(renewEveryMs > 0 && renewEveryMs * 2 <= renewDeadlineMs && renewDeadlineMs < leaseDurationMs)) {
    throw new RangeError(
      `a lease needs 2 × renewEvery ≤ renewDeadline < leaseDuration, not ${renewEveryMs}, ${renewDeadlineMs}, ${leaseDurationMs} ms`,
    )
  }
  return { leaseDurationMs, renewDeadlineMs, renewEveryMs }
}
