import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../time/index.ts'

export interface HttpQuestion {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly caBundle?: string | undefined
  readonly deadlineMs: number
}

/** A whole answer, or a sentence why there is none. */
export type HttpAnswer =
  | { readonly status: number; readonly text: string }
  | { readonly status: 'none'; readonly why: string }

/** Whoever sends more has no answer to a question of yes or no. */
const mostBytes = 256 * 1024

/** One request on a connection of its own, which is gone afterwards. Throws only when the signal aborts. */
export async function askHttp(question: HttpQuestion, clock: Clock, signal: AbortSignal): Promise<HttpAnswer> {
  signal.throwIfAborted()
  const over = new AbortController()
  const stop = () => over.abort()
  signal.addEventListener('abort', stop, { once: true })
  const { deadlineMs } = question
  const tooLate = clock
    .sleep(deadlineMs, over.signal)
    .then((): HttpAnswer => ({ status: 'none', why: `gave no answer within ${deadlineMs / 1_000} s` }))
  try {
    return await Promise.race([exchange(question, over.signal), tooLate])
  } catch (error) {
    signal.throwIfAborted()
    return { status: 'none', why: `cannot be asked: ${codeOf(error)}` }
  } finally {
    over.abort()
    await tooLate.catch(() => undefined)
    signal.removeEventListener('abort', stop)
  }
}

function exchange({ method, url, headers, body, caBundle }: HttpQuestion, signal: AbortSignal): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestHttps : requestHttp
    const call = send(url, {
      method,
      signal,
      agent: false,
      headers: { accept: 'application/json', connection: 'close', ...headers },
      ...(caBundle === undefined ? {} : { ca: caBundle }),
    })
    call.once('error', reject)
    call.once('response', (response) => {
      const { statusCode = 0 } = response
      // A token goes where the budget says, and nowhere else.
      if (statusCode >= 300 && statusCode < 400) {
        call.destroy()
        resolve({ status: 'none', why: `answered ${statusCode}, and redirects are not followed` })
        return
      }
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= mostBytes) chunks.push(chunk)
        else {
          call.destroy()
          resolve({ status: 'none', why: `answered with more than ${mostBytes / 1024} KiB` })
        }
      })
      response.once('end', () => resolve({ status: statusCode, text: Buffer.concat(chunks).toString('utf8') }))
      response.once('error', reject)
    })
    call.end(body)
  })
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
