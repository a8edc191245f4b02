import type { Notifier, Plugin } from '../../plugin.ts'
import { mail } from './mail.ts'
import { slack } from './slack.ts'
import { slackThread } from './slack-thread.ts'

export const notifyPlugins: readonly Plugin<Notifier>[] = [mail, slack, slackThread]
