import { optional } from '../../fields.ts'
import type { Plugin, Schedule } from '../../plugin.ts'

const fields = {
  interval: optional('duration', 'how long between two messages while the state stays', 3_600_000),
} as const

export const periodic: Plugin<Schedule, typeof fields> = {
  type: 'periodic',
  about: 'At every change of the state, and again and again while the node is not operational.',
  fields,
  create: ({ interval }) => ({
    isDue({ nowMs, current, previous, lastSentMs = Number.NEGATIVE_INFINITY }) {
      if (current !== previous) return true
      return previous !== 'operational' && nowMs - lastSentMs >= interval
    },
  }),
}
