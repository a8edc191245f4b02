import fc from 'fast-check'
import { expect, test } from 'vitest'
import { intervals, readWindow, weekdays } from '../../time/index.ts'
import type { Seen } from './finding.ts'
import { windowPart } from './window.ts'

/** Monday, in a zone whose clocks stay. */
const mondayMs = Date.parse('2027-01-04T00:00:00Z')
const minuteMs = 60_000
const dayMs = 86_400_000

const settingsOf = (values: Readonly<Record<string, readonly string[]>>) => {
  const all = (flag: string): Seen[] =>
    (values[flag] ?? []).map((text, index) => ({ as: `--${flag}`, flag, text, place: { file: 'x', line: index + 1 } }))
  return { all, one: (flag: string) => all(flag).at(-1) }
}

const clock = (seconds: number) =>
  [3600, 60, 1]
    .map((unit, index) => String(Math.floor(seconds / unit) % (index === 0 ? 24 : 60)).padStart(2, '0'))
    .join(':')

/** kured's answer for a second of a day that it lists: on other days it says no. */
function isOpenAt(second: number, startsAt: number, endsAt: number): boolean {
  return startsAt <= endsAt ? second >= startsAt && second <= endsAt : second >= startsAt || second <= endsAt
}

test('the windows are open in every minute that lies in kured’s own, and in no other', () => {
  const secondOfDay = fc.oneof(
    fc.integer({ min: 0, max: 1439 }).map((minute) => minute * 60),
    fc.integer({ min: 0, max: 86_399 }),
  )
  const days = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 })
  fc.assert(
    fc.property(days, secondOfDay, secondOfDay, (on, startsAt, endsAt) => {
      const part = windowPart(
        settingsOf({ 'reboot-days': on.map(String), 'start-time': [clock(startsAt)], 'end-time': [clock(endsAt)] }),
        'reboot-days',
        { name: 'kured', executable: 'kured' },
      )
      const wanted = Array.from({ length: 1440 }, (_, minute) =>
        Array.from({ length: 60 }, (_, second) => minute * 60 + second).every((at) => isOpenAt(at, startsAt, endsAt)),
      )
      if (!wanted.includes(true)) {
        expect(part.windows).toBeUndefined()
        expect(part.findings.every(({ stops }) => stops)).toBe(true)
        return
      }
      if (part.windows === undefined) {
        expect(on.length === weekdays.length && !wanted.includes(false)).toBe(true)
        return
      }
      const open = part.windows.flatMap(({ spec }) => {
        const { window, problems } = readWindow(spec)
        expect(problems).toEqual([])
        return window ? intervals(window, mondayMs, mondayMs + 7 * dayMs) : []
      })
      for (let day = 0; day < 7; day++)
        for (const [minute, isWanted] of wanted.entries()) {
          const ms = mondayMs + day * dayMs + minute * minuteMs
          const isOpen = open.some(({ startMs, endMs }) => startMs <= ms && ms < endMs)
          if (isOpen !== (isWanted && on.includes((day + 1) % 7)))
            expect.fail(`day ${day}, minute ${minute}: ${isOpen ? 'open' : 'closed'}`)
        }
    }),
    { numRuns: 60, examples: [[[0], 1, 0]] },
  )
})
