import { optional } from '../../fields.ts'
import type { Plugin, Schedule } from '../../plugin.ts'

const fields = {
  delay: optional('duration', 'how long after the change of the state', 60_000),
} as const

export const oneshot: Plugin<Schedule, typeof fields> = {
  type: 'oneshot',
  about: 'Once after every change of the state, when it has lasted for a while.',
  fields,
  create: ({ delay }) => ({
    isDue({ nowMs, transitionMs, lastSentMs = Number.NEGATIVE_INFINITY }) {
      return transitionMs > 0 && lastSentMs <= transitionMs && nowMs - transitionMs >= delay
    },
  }),
}
