import * as z from 'zod'
import type { Clock } from '../../../time/index.ts'

export interface Question {
  /** Of the server; what it is asked comes below it. */
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

function samplesOf({ status, text }: Reply, { url, shown }: Question): Samples {
  const body = readJson(text)
  const failure = failed.safeParse(body)
  if (failure.success) throw new Error(`${url.origin} refuses the query: ${shown(failure.data.error)}`)
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
  throw new Error(`${url.origin} answered ${status} with something that is no result of a query; check the url`)
}

/** As Prometheus writes numbers. */
function sampleOf(text: string): number {
  if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(text)
}

interface Reply {
  readonly status: number
  readonly text: string
}

const deadlineMs = 10_000

/** One sample is far less. */
const mostBytes = 256 * 1024

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
    if (error instanceof TooLong) throw new Error(`${origin} answered with more than ${mostBytes / 1024} KiB`)
    throw new Error(`${origin} cannot be asked: ${codeOf(error)}`)
  } finally {
    over.abort()
    await waiting
  }
}

class Late extends Error {}
class TooLong extends Error {}

async function call({ url, query, nowMs, authorization }: Question, method: 'GET' | 'POST', signal: AbortSignal) {
  const form = new URLSearchParams({ query, time: String(nowMs / 1_000) })
  const address = `${url.origin}${url.pathname.replace(/\/+$/, '')}/api/v1/query`
  const response = await fetch(method === 'POST' ? address : `${address}?${form.toString()}`, {
    method,
    // A token goes where the file says, and nowhere else.
    redirect: 'manual',
    signal,
    headers: { accept: 'application/json', ...(authorization === undefined ? {} : { authorization }) },
    ...(method === 'POST' ? { body: form } : {}),
  })
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > mostBytes) throw new TooLong()
  }
  return { status: response.status, text }
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
