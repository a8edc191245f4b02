import { abortable } from '../abortable.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts'
import type { Lease } from '../kinds.ts'
import { withDeadline } from '../request/deadline.ts'
import { leases } from '../resources.ts'
import type { LeaderOptions, LeaseTimes } from './lease.ts'
import {
  heldLease,
  isHeldBy,
  nextToken,
  type Observation,
  observe,
  releasedLease,
  unheldLease,
  waitBeforeTaking,
} from './lease-record.ts'

/** Within one renewal; more means that somebody writes the Lease in a loop, and a pause is due. */
const mostConflicts = 5

/** One candidate's hands on the Lease: reads it, and writes it only over the version that it has read. */
export class LeaseKeeper {
  readonly identity: string
  /** From whom it was taken. */
  before = ''
  readonly #options: LeaderOptions
  readonly #durationMs: number
  readonly #callDeadlineMs: number
  #lease: Lease | undefined
  /** False after a write whose outcome is unknown: the version at hand may be outdated. */
  #isCurrent = false
  #seen: Observation | undefined
  #highestToken = 0
  #acquiredMs = 0
  #renewedMicros = 0

  constructor(options: LeaderOptions, times: LeaseTimes) {
    const suffix = Math.floor(options.random() * 2 ** 32).toString(16)
    this.identity = `${options.identity}_${suffix.padStart(8, '0')}`
    this.#options = options
    this.#durationMs = times.leaseDurationMs
    // Two calls fit into the deadline, so that one that hangs does not cost the term.
    this.#callDeadlineMs = times.renewDeadlineMs / 3
  }

  /** Who had it when it was last read or written. */
  get holder(): string {
    return this.#lease?.spec?.holderIdentity ?? ''
  }

  /** Reads the Lease, or creates it. Answers after how many milliseconds it may be taken, if it does not change. */
  async look(signal: AbortSignal): Promise<number> {
    const lease = (await this.#read(signal)) ?? (await this.#create(signal))
    // Another candidate created it in the same moment; the next look sees what it made.
    if (!lease) return this.#durationMs
    const now = this.#options.clock.monotonic()
    this.#seen = observe(this.#seen ?? this.#options.witness?.seen(), lease, now)
    return waitBeforeTaking(lease, this.identity, this.#seen, this.#durationMs, now)
  }

  /** Answers the token of the new term, or nothing if somebody else was faster. Only after `look` allowed it. */
  async take(signal: AbortSignal): Promise<number | undefined> {
    if (!this.#lease) return undefined
    this.before = this.holder
    const token = nextToken(this.#lease, this.#highestToken, this.#options.clock.now())
    this.#acquiredMs = this.#options.clock.now()
    // Remembered even if the answer gets lost: the write may have happened.
    this.#highestToken = token
    try {
      await this.#write(this.#heldLease(this.#lease, token), signal)
      return token
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined
      throw error
    }
  }

  /** False when the Lease is no longer this term's. Throws when that is not known. */
  async renew(token: number, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#isCurrent) await this.#read(signal)
      if (!isHeldBy(this.#lease, this.identity, token)) return false
      try {
        await this.#write(this.#heldLease(this.#lease, token), signal)
        return true
      } catch (error) {
        // Somebody wrote the object, perhaps only a label. What they wrote decides.
        if (attempt === mostConflicts || !(isConflict(error) || isNotFound(error))) throw error
      }
    }
  }

  /** Does nothing if the Lease is no longer this term's. */
  async release(token: number): Promise<void> {
    const { signal } = new AbortController()
    const lease = await this.#read(signal)
    if (isHeldBy(lease, this.identity, token)) await this.#write(releasedLease(lease, token), signal)
  }

  async #create(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#write(unheldLease(this.#options.lease, this.#highestToken), signal)
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      return undefined
    }
  }

  #heldLease(base: Lease, token: number): Lease {
    // Strictly growing even if the wall clock jumps back, since others take a new renewTime for the sign of life.
    this.#renewedMicros = Math.max(this.#options.clock.now() * 1000, this.#renewedMicros + 1)
    return heldLease(base, {
      identity: this.identity,
      token,
      durationMs: this.#durationMs,
      acquiredMs: this.#acquiredMs,
      renewedMicros: this.#renewedMicros,
    })
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, lease } = this.#options
    try {
      this.#lease = await this.#call(signal, (options) => client.get<Lease>(leases, lease, options))
    } catch (error) {
      if (!isNotFound(error)) throw error
      this.#lease = undefined
    }
    this.#isCurrent = true
    this.#highestToken = Math.max(this.#highestToken, this.#lease?.spec?.leaseTransitions ?? 0)
    return this.#lease
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { client } = this.#options
    const isNew = lease.metadata.resourceVersion === undefined
    this.#isCurrent = false
    const stored = await this.#call(signal, (options) =>
      isNew ? client.create(leases, lease, options) : client.replace(leases, lease, options),
    )
    this.#lease = stored
    this.#isCurrent = true
    return stored
  }

  /** Does not rely on the client to give up in time. */
  #call<T>(
    parent: AbortSignal,
    start: (options: { readonly signal: AbortSignal; readonly deadlineMs: number }) => Promise<T>,
  ): Promise<T> {
    const deadlineMs = this.#callDeadlineMs
    return withDeadline(this.#options.clock, deadlineMs, parent, (signal) =>
      abortable(start({ signal, deadlineMs }), signal),
    )
  }
}
