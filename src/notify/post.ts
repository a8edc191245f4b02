import type { Secret } from '../kube/index.ts'
import { type Delivery, delivered, undelivered } from './delivery.ts'

export interface Post {
  /** Where the address comes from, for sentences that must not show it. */
  readonly whose: string
  readonly url: string | Secret
  readonly token?: Secret
  /** A user name and password in the address are sent as Basic; without it, such an address is refused. */
  readonly mayNameUser?: true
  readonly body: object
  /** For those that say with a status of success that they failed. Sees the first 64 KiB of the answer. */
  readonly judge?: (answer: string) => Delivery
}

/**
 * One POST of JSON. Any status of success will do. Redirects are not followed: a token goes nowhere else, and the address
 * of a webhook is a secret itself, which others would be shown.
 */
export async function post(asked: Post, signal: AbortSignal): Promise<Delivery> {
  const { whose, url, token, body, judge, mayNameUser } = asked
  const written = typeof url === 'string' ? url : url.reveal()
  const { address, login } = mayNameUser ? withoutUser(written) : { address: written, login: undefined }
  if (!isAddress(address)) return undelivered(`${whose} is no address that begins with https:// or http://`, false)
  if (token && !/^[\x21-\x7e]+$/.test(token.reveal()))
    return undelivered('the token has characters that no header can hold; store it anew', false)
  const authorization = token ? `Bearer ${token.reveal()}` : login
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    signal,
    headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
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

/** fetch refuses to have them in the address, and would say all of it. */
function withoutUser(text: string): { readonly address: string; readonly login: string | undefined } {
  if (!URL.canParse(text)) return { address: text, login: undefined }
  const address = new URL(text)
  const { username, password } = address
  if (username === '' && password === '') return { address: text, login: undefined }
  address.username = ''
  address.password = ''
  // As bytes: what is written with percent signs need not be text.
  const pair = `${username}:${password}`.replaceAll(/%([\da-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return { address: address.href, login: `Basic ${Buffer.from(pair, 'latin1').toString('base64')}` }
}

/** One with a user name in it is none: what is secret has a key of its own. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
}
