import type { Secret } from '../kube/index.ts'
import { type Delivery, delivered, undelivered } from './delivery.ts'

export interface Post {
  /** Where the address comes from, for sentences that must not show it. */
  readonly whose: string
  readonly url: string | Secret
  readonly token?: Secret
  readonly body: object
}

/** One POST of JSON. Any status of success will do; redirects are not followed, for a token goes nowhere else. */
export async function post({ whose, url, token, body }: Post, signal: AbortSignal): Promise<Delivery> {
  const address = typeof url === 'string' ? url : url.reveal()
  if (!isAddress(address)) return undelivered(`${whose} is no address that begins with https:// or http://`, false)
  if (token && !/^[\x21-\x7e]+$/.test(token.reveal()))
    return undelivered('the token has characters that no header can hold; store it anew', false)
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    signal,
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token.reveal()}` } : {}) },
    body: JSON.stringify(body),
  })
  await response.body?.cancel()
  const { status, ok } = response
  if (ok) return delivered
  if (status >= 300 && status < 400) return undelivered(`answered ${status}, and redirects are not followed`, false)
  return undelivered(`answered ${status}`, status === 408 || status === 429 || status >= 500)
}

/** One with a user name in it is none: what is secret has a key of its own. */
function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
}
