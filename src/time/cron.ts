import { Cron } from 'croner'
import type { DailyTimes } from './daily-times.ts'
import { Unreadable } from './unreadable.ts'
import { dayMs } from './wall-time.ts'
import type { Zone } from './zone.ts'

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const example = 'write minute, hour, day of month, month and weekday, such as "0 2 * * MON"'

/**
 * What starts by a cron pattern and lasts some elapsed time. The pattern is asked about the wall's calendar alone, never
 * about a zone: the package moves a time that does not exist to the end of the gap, and we must not.
 */
export function cronTimes(text: string, durationMs: number, zone: Zone): DailyTimes {
  const [minute, hour, day, month, weekday, ...more] = (nicknames[text.trim().toLowerCase()] ?? text)
    .trim()
    .split(/\s+/)
  if (weekday === undefined || more.length > 0)
    throw new Unreadable(`"${text}" does not have the five fields of a cron pattern; ${example}`)
  // A question mark would mean now, and a plus another meaning of day and weekday together.
  if (/[^\w*,/#-]/.test(`${minute}${hour}${day}${month}${weekday}`))
    throw new Unreadable(`"${text}" has a character that no cron pattern has; ${example}`)
  const days = pattern(text, `0 0 ${day} ${month} ${weekday}`)
  const times = pattern(text, `${minute} ${hour} * * *`)
  const starts: number[] = []
  for (let ms = 0; ms < dayMs; ms += 60_000) if (times.match(new Date(ms))) starts.push(ms)
  return {
    isOn: (dayWallMs) => days.match(new Date(dayWallMs)),
    shape: starts.map((startMs) => ({ startMs, endMs: startMs + durationMs })),
    resolve: (dayWallMs) =>
      starts.map((start) => {
        const startMs = zone.toInstant(dayWallMs + start, 'first')
        return { startMs, endMs: startMs + durationMs }
      }),
  }
}

function pattern(whole: string, part: string): Cron {
  try {
    return new Cron(part, { utcOffset: 0, mode: '5-part' })
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    throw new Unreadable(`"${whole}" is not a cron pattern: ${why}; ${example}`)
  }
}
