import { goDurationMs } from '../../time/index.ts'

/** Values of flags as programs in Go read them. Undefined: not such a value. */

/** Above it, our own form has no digits left. */
const longestMs = 99_999 * 3_600_000

/** Of `1h30m`, `1.5h` or `0`, in milliseconds. What is not above zero means "off" everywhere, and is 0. */
export function readGoDuration(text: string): number | undefined {
  const ms = goDurationMs(text)
  if (ms === undefined || ms > longestMs) return undefined
  return Math.ceil(Math.max(0, ms) / 1_000) * 1_000
}

export function readGoInteger(text: string): number | undefined {
  const value = Number(text)
  return /^[+-]?\d{1,9}$/.test(text) ? value : undefined
}

export function readGoBoolean(text: string): boolean | undefined {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true
  return /^(0|f|F|FALSE|false|False)$/.test(text) ? false : undefined
}

/** One record of comma-separated values, with quotes around what has commas itself. */
export function readGoList(text: string): string[] | undefined {
  if (text === '') return []
  const items = [...text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)]
  if (items.map(([whole]) => whole).join('') !== text) return undefined
  return items.map(([, inQuotes, plain]) => inQuotes?.replaceAll('""', '"') ?? plain ?? '')
}

/** Of 15:04, 15:04:05, 03:04pm, 15, 03pm and 3pm, in seconds since midnight. */
export function readTimeOfDay(text: string): number | undefined {
  const [plain, hours, minutes = '0', seconds = '0'] = /^(\d{1,2})(?::(\d\d)(?::(\d\d))?)?$/.exec(text) ?? []
  if (plain !== undefined) return secondsOf(Number(hours), 23, Number(minutes), Number(seconds))
  const [, clock, past = '0', half] = /^(?:(\d\d):(\d\d)|\d{1,2})(am|pm)$/.exec(text) ?? []
  if (half === undefined) return undefined
  const onDial = Number(clock ?? text.slice(0, -2))
  if (onDial > 12) return undefined
  return secondsOf((onDial % 12) + (half === 'pm' ? 12 : 0), 23, Number(past), 0)
}

function secondsOf(hours: number, mostHours: number, minutes: number, seconds: number): number | undefined {
  if (hours > mostHours || minutes > 59 || seconds > 59) return undefined
  return (hours * 60 + minutes) * 60 + seconds
}

const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** 0 is Sunday: by number, or by the first two or three letters, or in full. */
export function readWeekday(text: string): number | undefined {
  const number = readGoInteger(text)
  if (number !== undefined) return number >= 0 && number < 7 ? number : undefined
  const name = text.toLowerCase()
  const day = dayNames.findIndex((full) => [full, full.slice(0, 2), full.slice(0, 3)].includes(name))
  return day < 0 ? undefined : day
}
