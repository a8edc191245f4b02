import { Temporal } from 'temporal-polyfill'
import { Unreadable } from './unreadable.ts'
import { dayMs } from './wall-time.ts'

/** A time zone: which sign the wall shows at an instant, and back. */
export interface Zone {
  readonly name: string
  toWall(ms: number): number
  /**
   * A time that does not exist is as far behind the gap's begin as it would have been (02:30 becomes 03:30). Of one that
   * exists twice it is the first or the last.
   */
  toInstant(wallMs: number, which: 'first' | 'last'): number
  /** Whether the clocks of this zone stay as they are between two instants. */
  isSteady(fromMs: number, toMs: number): boolean
}

interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  readonly offsetMs: number
}

/** Throws Unreadable for anything but an IANA name: an offset hides that the clocks change, and UTC is no substitute. */
export function zoneOf(name: string): Zone {
  if (!isZoneName(name))
    throw new Unreadable(`"${name}" is not a time zone; write an IANA name such as Europe/Paris or UTC, not an offset`)
  const known: Stretch[] = []
  const stretchAt = (ms: number): Stretch => {
    const found = known.find(({ fromMs, toMs }) => fromMs <= ms && ms < toMs)
    if (found) return found
    const stretch = readStretch(name, ms)
    known.unshift(stretch)
    return stretch
  }
  return {
    name,
    toWall: (ms) => ms + stretchAt(ms).offsetMs,
    isSteady: (fromMs, toMs) => stretchAt(fromMs).toMs > toMs,
    toInstant(wallMs, which) {
      // No zone is a whole day away from UTC, so the clocks that count lie between these two instants.
      const [before, after] = [stretchAt(wallMs - dayMs).offsetMs, stretchAt(wallMs + dayMs).offsetMs]
      if (before === after) return wallMs - before
      const right = [wallMs - before, wallMs - after].filter((ms) => ms + stretchAt(ms).offsetMs === wallMs)
      if (right.length === 0) return wallMs - before
      return which === 'first' ? Math.min(...right) : Math.max(...right)
    },
  }
}

function isZoneName(name: string): boolean {
  // Newer runtimes take +02:00 for a zone.
  if (!/^[A-Za-z][A-Za-z0-9_]*([/+-][A-Za-z0-9_]+)*$/.test(name) || /^(UTC|GMT)[+-]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function readStretch(name: string, ms: number): Stretch {
  const at = (epochMs: number) => Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(name)
  const here = at(ms)
  return {
    // "Previous" means before, and the change itself belongs to the stretch that it begins.
    fromMs: at(ms + 1).getTimeZoneTransition('previous')?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    toMs: here.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: here.offsetNanoseconds / 1_000_000,
  }
}
