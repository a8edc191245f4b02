import * as z from 'zod'
import type { Clock } from '../../../time/index.ts'

export interface Question {
  /** Of the server; what it is asked comes below it. A query part goes along, such as the tenant that is asked for. */
  readonly url: URL
  readonly query: string
  readonly nowMs: number
  /** Goes into the header, and is never shown. */
  readonly authorization: string | undefined
  /** Makes words of the server fit to be shown. */
  readonly shown: (text: string) => string
}

export interface Samples {
  readonly values: readonly number[]
  readonly warnings: readonly string[]
}

const found = z.object({
  status: z.literal('success'),
  warnings: z.array(z.string()).optional(),
  data: z.object({
    resultType: z.literal('vector'),
    result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })),
  }),
})
const otherKind = z.object({ status: z.literal('success'), data: z.object({ resultType: z.string() }) })
const failed = z.object({ status: z.literal('error'), error: z.string() })

/** The samples of an instant query. Throws, with a sentence, when there is no such answer. */
export async function querySamples(question: Question, clock: Clock, signal: AbortSignal): Promise<Samples> {
  let reply = await exchange(question, 'POST', clock, signal)
  // Some only let questions through that can be seen in the address.
  if (reply.status === 405 || reply.status === 501) reply = await exchange(question, 'GET', clock, signal)
  return samplesOf(reply, question)
}

function samplesOf({ status, text, origin }: Reply, { shown }: Question): Samples {
  const body = readJson(text)
  const failure = failed.safeParse(body)
  if (failure.success) throw new Error(`${shown(origin)} refuses the query: ${shown(failure.data.error)}`)
  const success = found.safeParse(body)
  if (status === 200 && success.success) {
    const { data, warnings = [] } = success.data
    return { values: data.result.map(({ value }) => sampleOf(value[1])), warnings: warnings.map(shown) }
  }
  const other = otherKind.safeParse(body)
  if (status === 200 && other.success)
    throw new Error(
      `the query gives a ${shown(other.data.data.resultType)}; write one that gives a vector of one sample`,
    )
  throw new Error(`${shown(origin)} answered ${status} with something that is no result of a query; check the url`)
}

/** As Prometheus writes numbers. */
function sampleOf(text: string): number {
  if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(text)
}

interface Reply {
  readonly status: number
  readonly text: string
  /** Of the server that it came from. */
  readonly origin: string
}

const deadlineMs = 10_000

/** One sample is far less. */
const mostBytes = 256 * 1024

/** One for https and one for the path; more is a circle. */
const mostRedirects = 3

async function exchange(question: Question, method: 'GET' | 'POST', clock: Clock, signal: AbortSignal): Promise<Reply> {
  signal.throwIfAborted()
  const over = new AbortController()
  const waiting = clock.sleep(deadlineMs, AbortSignal.any([over.signal, signal])).then(
    () => over.abort(new Late()),
    () => undefined,
  )
  try {
    return await call(question, method, AbortSignal.any([over.signal, signal]))
  } catch (error) {
    signal.throwIfAborted()
    const { origin } = question.url
    if (error instanceof Late) throw new Error(`${origin} gave no answer within ${deadlineMs / 1_000} s`)
    if (error instanceof Astray) throw new Error(`${origin} ${error.message}`)
    if (error instanceof TooLong) throw new Error(`${origin} answered with more than ${mostBytes / 1024} KiB`)
    throw new Error(`${origin} cannot be asked: ${codeOf(error)}`)
  } finally {
    over.abort()
    await waiting
  }
}

class Late extends Error {}
class TooLong extends Error {}
class Astray extends Error {}

/** A query only reads, so it goes with its form to wherever a redirect leads; fetch by itself would leave the form behind. */
async function call(question: Question, method: 'GET' | 'POST', signal: AbortSignal): Promise<Reply> {
  const { url, query, nowMs } = question
  const form = new URLSearchParams({ query, time: String(nowMs / 1_000) })
  let place = new URL(`${url.origin}${url.pathname.replace(/\/+$/, '')}/api/v1/query${url.search}`)
  // Ours first: of two with one name Prometheus takes the first, and the form before the address.
  if (method === 'GET') place.search = `${form.toString()}${url.search.replace('?', '&')}`
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await fetch(place, {
      method,
      // A token goes where the file says, and nowhere else.
      redirect: 'manual',
      signal,
      headers: headersOf(question),
      ...(method === 'POST' ? { body: form } : {}),
    })
    const { status, headers } = response
    const location = [301, 302, 307, 308].includes(status) ? headers.get('location') : null
    if (location === null) return { status, text: await textOf(response), origin: place.origin }
    await response.body?.cancel()
    place = redirected(place, location, status, question)
  }
  throw new Astray('redirects in a circle; write the address of Prometheus itself as url')
}

function headersOf({ authorization }: Question): Record<string, string> {
  return { accept: 'application/json', ...(authorization === undefined ? {} : { authorization }) }
}

/** Throws where a token would get into other hands, or where an answer could come from anybody. */
function redirected(from: URL, location: string, status: number, { authorization, shown }: Question): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined
  if (to?.protocol !== 'https:' && to?.protocol !== 'http:')
    throw new Astray(`answered ${status} without an address to go to; check the url`)
  const refuse = (why: string) =>
    new Astray(`answered ${status} and points to ${shown(to.origin)}, ${why}; write the address that you trust as url`)
  if (from.protocol === 'https:' && to.protocol === 'http:') throw refuse('where nothing is encrypted')
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:' && to.hostname === from.hostname
  if (authorization !== undefined && to.origin !== from.origin && !isUpgrade)
    throw refuse('where no token or password is sent')
  // A user name in it would be refused by fetch.
  return new URL(`${to.origin}${to.pathname}${to.search}`)
}

async function textOf({ body }: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > mostBytes) throw new TooLong()
  }
  return text
}

/** The reason of a failed fetch is in its cause, and only its code is sure to hold no secret. */
function codeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: error }
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : 'the connection failed'
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
