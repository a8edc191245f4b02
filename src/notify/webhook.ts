import type { Notification } from '../api/index.ts'
import { type Delivery, inTime, type SendDoors, undelivered } from './delivery.ts'
import { type Message, webhookBody } from './message.ts'
import { post } from './post.ts'

/** The facts as JSON, to whoever wants them. */
export function sendWebhook(
  name: string,
  webhook: NonNullable<Notification['webhook']>,
  message: Message,
  { clock, readSecret }: SendDoors,
  signal: AbortSignal,
): Promise<Delivery> {
  const { url = '', urlSecretKey, tokenSecretKey } = webhook
  const send = async (within: AbortSignal): Promise<Delivery> => {
    const secretUrl = urlSecretKey === undefined ? undefined : await readSecret(urlSecretKey, within)
    if (typeof secretUrl === 'string') return undelivered(secretUrl, true)
    const token = tokenSecretKey === undefined ? undefined : await readSecret(tokenSecretKey, within)
    if (typeof token === 'string') return undelivered(token, true)
    const whose = urlSecretKey === undefined ? 'url' : `key ${urlSecretKey} of the Secret`
    const body = webhookBody(name, message)
    return post({ whose, url: secretUrl ?? url, body, ...(token ? { token } : {}) }, within)
  }
  return inTime(send, clock, signal)
}
