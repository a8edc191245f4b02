import type { Clock } from '../../time/index.ts'
import { DelayLine } from './delay-line.ts'
import type { Due } from './due-heap.ts'
import { WorkOrder } from './work-order.ts'

/** A key has at most one pending wake-up: the earliest that was asked, with the highest priority that was asked. */
export interface ScheduledKey extends Due {
  readonly key: string
  readonly group: string
  /** Where the wake-up waits: for its time, for a worker, or for the end of the present run. */
  wakeUp: 'none' | 'later' | 'ready' | 'held'
  priority: number
  /** The server asked not to be bothered earlier; no wake-up may come before this. */
  notBefore: number
  failures: number
  isRunning: boolean
}

/** Knows which keys wait, until when, and which is next. Knows nothing of handlers. */
export class WorkSchedule {
  readonly #clock: Clock
  readonly #groupOf: (key: string) => string
  readonly #onReady: () => void
  readonly #order: WorkOrder
  readonly #later: DelayLine<ScheduledKey>
  readonly #keys = new Map<string, ScheduledKey>()

  constructor(clock: Clock, groupOf: (key: string) => string, patience: number, onReady: () => void) {
    this.#clock = clock
    this.#groupOf = groupOf
    this.#onReady = onReady
    this.#order = new WorkOrder(patience)
    this.#later = new DelayLine(clock, (entry) => this.#place(entry))
  }

  get ready(): number {
    return this.#order.size
  }

  get delayed(): number {
    return this.#later.size
  }

  oldestSince(): number | undefined {
    return this.#order.oldestSince()
  }

  wake(key: string, wantedAt: number, priority: number): void {
    const entry = this.#entryOf(key)
    const dueAt = Math.max(wantedAt, entry.notBefore)
    const isOnly = entry.wakeUp === 'none'
    this.#later.remove(entry)
    entry.dueAt = isOnly ? dueAt : Math.min(dueAt, entry.dueAt)
    entry.priority = isOnly ? priority : Math.max(priority, entry.priority)
    this.#place(entry)
  }

  /** Takes the next ready key for a run. It must be given back with `release`. */
  take(): ScheduledKey | undefined {
    const next = this.#order.take()
    const entry = next && this.#keys.get(next.key)
    if (!entry) return undefined
    entry.wakeUp = 'none'
    entry.notBefore = 0
    entry.isRunning = true
    return entry
  }

  /** The run has ended; a wake-up that came meanwhile gets its place now. */
  release(entry: ScheduledKey): void {
    entry.isRunning = false
    if (entry.wakeUp === 'held') this.#place(entry)
    this.#tidy(entry)
  }

  /** Counts a failure of the key, before its back-off is computed. */
  countFailure(key: string): number {
    return ++this.#entryOf(key).failures
  }

  forget(key: string): void {
    const entry = this.#keys.get(key)
    if (!entry) return
    entry.failures = 0
    this.#tidy(entry)
  }

  /** Keeps every wake-up of the key, the one that waits already included, from coming earlier. */
  holdUntil(entry: ScheduledKey, notBefore: number): void {
    entry.notBefore = notBefore
    entry.dueAt = Math.max(entry.dueAt, notBefore)
  }

  /** Drops everything that waits and says how many keys that were. */
  clear(): number {
    let dropped = 0
    this.#order.clear()
    this.#later.clear()
    for (const entry of [...this.#keys.values()]) {
      if (entry.wakeUp !== 'none') dropped++
      entry.wakeUp = 'none'
      entry.failures = 0
      this.#tidy(entry)
    }
    return dropped
  }

  #place(entry: ScheduledKey): void {
    const now = this.#clock.monotonic()
    if (entry.isRunning) {
      entry.wakeUp = 'held'
    } else if (entry.wakeUp === 'ready' || entry.dueAt <= now) {
      entry.wakeUp = 'ready'
      this.#order.add({ key: entry.key, group: entry.group, priority: entry.priority, since: now })
      this.#onReady()
    } else {
      entry.wakeUp = 'later'
      this.#later.push(entry)
    }
  }

  #entryOf(key: string): ScheduledKey {
    let entry = this.#keys.get(key)
    if (!entry) {
      const group = this.#groupOf(key)
      const idle = {
        wakeUp: 'none',
        isRunning: false,
        dueAt: 0,
        slot: -1,
        priority: 0,
        notBefore: 0,
        failures: 0,
      } as const
      entry = { key, group, ...idle }
      this.#keys.set(key, entry)
    }
    return entry
  }

  /** Without this the memory of the queue would grow with every key it ever saw. */
  #tidy(entry: ScheduledKey): void {
    if (entry.wakeUp === 'none' && !entry.isRunning && entry.failures === 0) this.#keys.delete(entry.key)
  }
}
