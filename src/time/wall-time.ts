import { Unreadable } from './unreadable.ts'

/**
 * Wall-clock time is counted in milliseconds as if it were UTC: the number of the sign on the wall, not of an instant.
 * Only a zone makes an instant of it.
 */
export const dayMs = 86_400_000

/** `2027-01-05`, as the wall's midnight. */
export function readDate(text: string): number {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  return wallOf(`"${text}"`, 'write a date such as 2027-01-05', year, month, day)
}

/** `2027-01-05T02:00` or `2027-01-05T02:00:30`. */
export function readDateTime(text: string): number {
  const example = 'write a local time without zone, such as 2027-01-05T02:00:00; the zone is timeZone'
  const [, year, month, day, hour, minute, second = '0'] =
    /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2}))?$/.exec(text) ?? []
  return wallOf(`"${text}"`, example, year, month, day, hour, minute, second)
}

/** `22:00`, in milliseconds since midnight. 24:00 is the end of the day. */
export function readTimeOfDay(text: string): number {
  const [, hour, minute] = /^(\d{2}):(\d{2})$/.exec(text) ?? []
  const minutes = Number(hour) * 60 + Number(minute)
  if (!(minutes <= 24 * 60) || Number(minute) > 59)
    throw new Unreadable(`"${text}" is not a time of day; write for example 22:00`)
  return minutes * 60_000
}

/** Refuses what Date would quietly carry over, such as February 30. */
export function wallOf(
  seen: string,
  remedy: string,
  year?: string,
  month?: string,
  day?: string,
  hour = '0',
  minute = '0',
  second = '0',
): number {
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as number[]
  const ms = Date.UTC(y ?? Number.NaN, (mo ?? Number.NaN) - 1, d, h, mi, s)
  const read = new Date(ms)
  if (
    Number.isNaN(ms) ||
    read.getUTCFullYear() !== y ||
    read.getUTCMonth() + 1 !== mo ||
    read.getUTCDate() !== d ||
    read.getUTCHours() !== h ||
    read.getUTCMinutes() !== mi
  )
    throw new Unreadable(`${seen} does not exist as a date or time; ${remedy}`)
  return ms
}

export function floorDay(wallMs: number): number {
  return Math.floor(wallMs / dayMs) * dayMs
}
