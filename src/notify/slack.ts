import type { Notification } from '../api/index.ts'
import { type Delivery, inTime, type SendDoors, undelivered } from './delivery.ts'
import type { Message } from './message.ts'
import { post } from './post.ts'

/** To an incoming webhook of Slack, or of whoever understands the same. */
export function sendSlack(
  { urlSecretKey, channel }: NonNullable<Notification['slack']>,
  { text }: Message,
  { clock, readSecret }: SendDoors,
  signal: AbortSignal,
): Promise<Delivery> {
  const send = async (within: AbortSignal): Promise<Delivery> => {
    const url = await readSecret(urlSecretKey, within)
    if (typeof url === 'string') return undelivered(url, true)
    const body = { text, ...(channel === undefined ? {} : { channel }) }
    return post({ whose: `key ${urlSecretKey} of the Secret`, url, body }, within)
  }
  return inTime(send, clock, signal)
}
