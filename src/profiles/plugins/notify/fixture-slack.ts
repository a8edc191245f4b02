import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HeardPost {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: { readonly channel?: string; readonly text?: string; readonly thread_ts?: string }
  /** The name that it got, if it was taken by the Web API. */
  readonly ts?: string
}

/** What is answered instead of what Slack would; `hang` is nothing at all. */
export type Fault = 'hang' | { readonly status?: number; readonly body: string }

/** Speaks as Slack does: the Web API below /api, and incoming webhooks everywhere else. */
export async function startSlack(test: { onTestFinished(end: () => void): void }) {
  const heard: HeardPost[] = []
  const faults: Fault[] = []
  const server = createServer((asked, answer) => {
    const chunks: Buffer[] = []
    asked.on('data', (chunk: Buffer) => chunks.push(chunk))
    asked.on('end', () => {
      const path = asked.url ?? ''
      const body = JSON.parse(Buffer.concat(chunks).toString()) as HeardPost['body']
      const fault = faults.shift()
      const isApi = path.startsWith('/api/')
      const ts = `17000000.${String(heard.length).padStart(6, '0')}`
      heard.push({ path, authorization: asked.headers.authorization, body, ...(isApi && !fault ? { ts } : {}) })
      if (fault === 'hang') return
      const usual = isApi ? JSON.stringify({ ok: true, ts }) : 'ok'
      answer.writeHead(fault?.status ?? 200).end(fault?.body ?? usual)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, faults }
}
