import { required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'

export const wait = checkPlugin({
  type: 'wait',
  about: 'The profile has been in its state on this node for longer than a duration.',
  fields: { duration: required('durationText', 'for how long, with its unit: 10m') },
  create: ({ duration }) => ({
    check({ nowMs, transitionMs }) {
      const remainingMs = duration - (nowMs - transitionMs)
      return answer(remainingMs < 0, { remaining_seconds: wholeSeconds(remainingMs) })
    },
  }),
})

/** Rounded up, so that it is not zero while there is still something to wait for. */
export function wholeSeconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1_000))
}
