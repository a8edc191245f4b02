import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { apiServerUrl, type ClusterRecord } from '../../src/dev/index.ts'

export interface PlainAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface PlainOptions {
  /** Instead of the API server itself. */
  readonly url?: string
  /** Instead of the administrator's certificate. */
  readonly token?: string
  readonly withinMs?: number
}

/** One request by Node's own https, so that tests of faults do not trust the client that they are made for. */
export async function ask(
  record: Pick<ClusterRecord, 'folder' | 'ports'>,
  path: string,
  options: PlainOptions = {},
): Promise<PlainAnswer | { readonly failed: string }> {
  try {
    const answer = await open(record, path, options)
    let body = ''
    for await (const chunk of answer.setEncoding('utf8')) body += chunk
    return { status: answer.statusCode ?? 0, headers: answer.headers, body }
  } catch (error) {
    return { failed: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** Resolves with the head of the answer; the body is the caller's to read, as long as it lasts. */
export function open(
  record: Pick<ClusterRecord, 'folder' | 'ports'>,
  path: string,
  options: PlainOptions = {},
): Promise<IncomingMessage> {
  const pem = (name: string) => readFileSync(join(record.folder, 'certificates', name))
  const identity = options.token
    ? { headers: { authorization: `Bearer ${options.token}` } }
    : { cert: pem('admin.crt'), key: pem('admin.key') }
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, options.url ?? apiServerUrl(record as ClusterRecord)),
      { ca: pem('ca.crt'), agent: false, ...identity },
      resolve,
    )
    sent.setTimeout(options.withinMs ?? 10_000, () => sent.destroy(new Error('no answer in time')))
    sent.once('error', reject)
    sent.end()
  })
}
