import type { Secret } from '../kube/index.ts'
import { type Delivery, delivered, undelivered } from './delivery.ts'

export interface Post {
  /** Where the address comes from, for sentences that must not show it. */
  readonly whose: string
  readonly url: string | Secret
  readonly token?: Secret
  readonly body: object
  /** For those that say with a status of success that they failed. Sees the first 64 KiB of the answer. */
  readonly judge?: (answer: string) => Delivery
}

/**
 * One POST of JSON. Any status of success will do. Redirects are not followed: a token goes nowhere else, and the address
 * of a webhook is a secret itself, which others would be shown.
 */
export async function post({ whose, url, token, body, judge }: Post, signal: AbortSignal): Promise<Delivery> {
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
  const { status, ok } = response
  if (ok && judge) return judge(await beginningOf(response))
  await response.body?.cancel()
  if (ok) return delivered
  if (status >= 300 && status < 400)
    return undelivered(
      `answered ${status}, and redirects are not followed; write the address that it points to as ${whose}`,
      false,
    )
  return undelivered(`answered ${status}`, status === 408 || status === 429 || status >= 500)
}

const mostBytes = 65_536

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= mostBytes) break
  }
  return Buffer.concat(chunks).subarray(0, mostBytes).toString()
}

/** One with a user name in it is none: what is secret has a key of its own. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
}
