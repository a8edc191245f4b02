import { type Zone, zoneOf } from '../../../time/index.ts'

export const dayMs = 86_400_000

/** What the wall shows, to the fraction of a millisecond; zones themselves know only whole ones. */
export function wallAt(zone: Zone, ms: number): number {
  const whole = Math.floor(ms)
  return zone.toWall(whole) + (ms - whole)
}

export function floorDay(wallMs: number): number {
  return Math.floor(wallMs / dayMs) * dayMs
}

/** `9:05` or `15:20`, in milliseconds since midnight. Nothing if it is none: the day ends before 24:00. */
export function readTimeOfDay(text: string): number | undefined {
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? []
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59) return undefined
  return (Number(hour) * 60 + Number(minute)) * 60_000
}

/** Why it is no zone; nothing if it is one. */
export function zoneProblem(name: string): string | undefined {
  try {
    zoneOf(name)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
