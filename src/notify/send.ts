import type { Notification } from '../api/index.ts'
import { type Delivery, type SendDoors, undelivered } from './delivery.ts'
import { sendMail } from './mail.ts'
import type { Message } from './message.ts'
import { sendSlack } from './slack.ts'
import { sendWebhook } from './webhook.ts'

/** One try, by whatever the notification is about. Throws only when the signal aborts. */
export async function send(
  { name, slack, mail, webhook }: Notification,
  message: Message,
  doors: SendDoors,
  signal: AbortSignal,
): Promise<Delivery> {
  if (slack) return sendSlack(slack, message, doors, signal)
  if (mail) return sendMail(mail, message, doors, signal)
  if (webhook) return sendWebhook(name, webhook, message, doors, signal)
  return undelivered('it has neither slack nor mail nor webhook', false)
}
