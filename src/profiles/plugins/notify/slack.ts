import { Secret } from '../../../kube/index.ts'
import { delivered, inTime, post, undelivered } from '../../../notify/index.ts'
import { required } from '../../fields.ts'
import type { FieldProblem, Notifier, Plugin } from '../../plugin.ts'
import { messageOf, templateProblems, templateWarnings, writeTexts } from './message-template.ts'
import { mustBeDelivered } from './not-sent.ts'

const fields = {
  hook: required('text', 'address of the incoming webhook; a secret'),
  channel: required('text', 'channel, as #ops'),
  message: required('text', 'template of the text; marks of Slack in it count'),
} as const

/** Slack says `ok` and nothing else when it took a message; a proxy in between says other things with success. */
const judge = (answer: string) =>
  answer === 'ok' ? delivered : undelivered('the answer was a success, but not the ok of Slack; look at the hook', true)

/** To an incoming webhook. */
export const slack: Plugin<Notifier, typeof fields> = {
  type: 'slack',
  about: 'Posts to an incoming webhook of Slack.',
  fields,
  problems: ({ message }) => templateProblems({ message }),
  warnings: ({ hook, message }) => [...hookWarnings(hook), ...templateWarnings({ message })],
  create({ hook, channel, message }) {
    const url = new Secret(hook)
    const textOf = messageOf('message', message)
    return {
      async send(context, doors, signal) {
        const [text] = await writeTexts([textOf], context, doors, signal)
        const body = { text, channel }
        const send = (within: AbortSignal) => post({ whose: 'hook', url, body, judge, mayNameUser: true }, within)
        return mustBeDelivered(await inTime(send, doors.clock, signal))
      },
    }
  },
}

/** The original finds out when it sends: a file that loads there must load here. The hook is a secret, and is not shown. */
function hookWarnings(hook: string): FieldProblem[] {
  if (URL.canParse(hook) && ['https:', 'http:'].includes(new URL(hook).protocol)) return []
  const message = 'nothing can be sent to it: it is no address that begins with https:// or http://'
  return [{ field: 'hook', message }]
}
