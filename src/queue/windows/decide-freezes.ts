import type { MaintenanceFreeze } from '../../api/index.ts'
import { shortTime } from '../limits.ts'

export interface ActiveFreeze {
  readonly name: string
  readonly reason: string
  readonly by?: string
  /** Without it, until somebody deletes the freeze. */
  readonly untilMs?: number
}

export interface FreezesView {
  /** Those that stop all claims now; the one that lasts longest first. */
  readonly active: readonly ActiveFreeze[]
  /** When time alone changes the list. */
  readonly nextChangeMs?: number
}

export function viewFreezes(freezes: Iterable<MaintenanceFreeze>, nowMs: number): FreezesView {
  // A freeze with a selector is about some NodeMaintenances, not about the queue.
  const all = [...freezes].filter(({ spec }) => spec.selector === undefined)
  const active = all.filter((freeze) => isActive(freeze, nowMs)).map(activeFreeze)
  const changes = all.flatMap((freeze) => nextChange(freeze, nowMs) ?? [])
  return {
    active: active.sort(
      (a, b) =>
        (b.untilMs ?? Number.POSITIVE_INFINITY) - (a.untilMs ?? Number.POSITIVE_INFINITY) ||
        a.name.localeCompare(b.name),
    ),
    ...(changes.length > 0 ? { nextChangeMs: Math.min(...changes) } : {}),
  }
}

/** A time that cannot be read does not end a freeze, and does not keep it from beginning. */
export function isActive({ spec }: MaintenanceFreeze, nowMs: number): boolean {
  return !(Date.parse(spec.from ?? '') > nowMs) && !(Date.parse(spec.until ?? '') <= nowMs)
}

export function nextChange({ spec }: MaintenanceFreeze, nowMs: number): number | undefined {
  return [spec.from, spec.until].map((text) => Date.parse(text ?? '')).find((ms) => ms > nowMs)
}

function activeFreeze({ metadata, spec }: MaintenanceFreeze): ActiveFreeze {
  const untilMs = Date.parse(spec.until ?? '')
  return {
    name: metadata.name ?? '',
    reason: spec.reason,
    ...(spec.by === undefined ? {} : { by: spec.by }),
    ...(Number.isNaN(untilMs) ? {} : { untilMs }),
  }
}

/** One sentence for whoever waits because of them; none if there is none. */
export function freezeText({ active }: FreezesView): string | undefined {
  const [first, ...more] = active
  if (!first) return undefined
  const by = first.by === undefined ? '' : ` by ${first.by}`
  const until =
    first.untilMs === undefined ? 'until it is deleted' : `until ${shortTime(new Date(first.untilMs).toISOString())}`
  const others = more.length > 0 ? `, and ${more.length} more` : ''
  return `MaintenanceFreeze ${first.name}${by} stops all claims ${until}: ${first.reason}${others}`
}
