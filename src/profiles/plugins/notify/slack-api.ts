import type { Secret } from '../../../kube/index.ts'
import { type Delivery, delivered, inTime, isAddress, post, undelivered } from '../../../notify/index.ts'
import type { Clock } from '../../../time/index.ts'
import { mustBeDelivered, NotSent } from './not-sent.ts'

export interface SlackMessage {
  readonly channel: string
  readonly text: string
  /** The message that it answers. */
  readonly thread_ts?: string
}

/** Words of Slack's own for what went wrong. Whatever else it says may repeat what it was sent. */
const known: Readonly<Record<string, { readonly cure: string; readonly isWorthRetry?: true }>> = {
  channel_not_found: { cure: 'look at channel' },
  not_in_channel: { cure: 'invite the app to the channel' },
  is_archived: { cure: 'choose another channel' },
  invalid_auth: { cure: 'store a new token' },
  not_authed: { cure: 'store a token' },
  account_inactive: { cure: 'store a new token' },
  token_revoked: { cure: 'store a new token' },
  token_expired: { cure: 'store a new token' },
  missing_scope: { cure: 'give the app the scope chat:write' },
  no_text: { cure: 'write a template that says something' },
  msg_too_long: { cure: 'say less' },
  ratelimited: { cure: 'it is tried again', isWorthRetry: true },
  rate_limited: { cure: 'it is tried again', isWorthRetry: true },
  internal_error: { cure: 'it is tried again', isWorthRetry: true },
  service_unavailable: { cure: 'it is tried again', isWorthRetry: true },
}

/** Posts as an app does, and answers the name that the message has from then on. Throws NotSent. */
export async function postMessage(
  to: { readonly url: string; readonly token: Secret; readonly clock: Clock },
  body: SlackMessage,
  signal: AbortSignal,
): Promise<string> {
  const { token, clock } = to
  const url = `${to.url.replace(/\/+$/, '')}/chat.postMessage`
  if (!isAddress(url)) throw new NotSent('apiURL is no address that begins with https:// or http://', false)
  let name: string | undefined
  const judge = (answer: string): Delivery => {
    const said = saidIn(answer)
    name = said.ts
    if (name !== undefined) return delivered
    const reason = known[said.error ?? '']
    if (reason) return undelivered(`Slack said ${said.error}: ${reason.cure}`, reason.isWorthRetry ?? false)
    return undelivered('Slack did not take the message, and did not say why in words that are known here', true)
  }
  mustBeDelivered(await inTime((within) => post({ whose: 'apiURL', url, token, body, judge }, within), clock, signal))
  return name ?? ''
}

function saidIn(answer: string): { readonly ts?: string; readonly error?: string } {
  try {
    const said = (JSON.parse(answer) ?? {}) as Readonly<Record<string, unknown>>
    const { ok, ts, error } = said
    if (ok === true && typeof ts === 'string' && ts !== '') return { ts }
    return typeof error === 'string' && Object.hasOwn(known, error) ? { error } : {}
  } catch {
    return {}
  }
}
