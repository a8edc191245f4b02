import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { startMeter } from './watch-meter.ts'

/** The bytes alone: the same streamed lists, read and thrown away. Nothing can sync faster with this server. */
interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } },
  ]
  readonly users: readonly [
    { readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } },
  ]
}

const meter = startMeter()
const config = JSON.parse(readFileSync(process.env['KUBECONFIG'] ?? '', 'utf8')) as Kubeconfig
const decode = (text: string) => Buffer.from(text, 'base64')
const { cluster } = config.clusters[0]
const { user } = config.users[0]
const agent = new Agent({
  ca: decode(cluster['certificate-authority-data']),
  cert: decode(user['client-certificate-data']),
  key: decode(user['client-key-data']),
})
const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
const endMark = 'k8s.io/initial-events-end'

async function follow(kind: string): Promise<void> {
  let tail = Buffer.alloc(0)
  await new Promise<void>((resolve, reject) => {
    get(`${cluster.server}/api/v1/${kind}?${query}`, { agent }, (answer) => {
      answer.on('data', (chunk: Buffer) => {
        // The mark may lie across two chunks.
        if (Buffer.concat([tail, chunk.subarray(0, endMark.length)]).includes(endMark) || chunk.includes(endMark))
          resolve()
        tail = Buffer.from(chunk.subarray(-endMark.length))
      })
    }).on('error', reject)
  })
}

await Promise.all([follow('nodes'), follow('pods')])
// Changes are not followed: a stream that the server ends, as it does with slow readers, would have to be taken up again.
meter.syncedOnly()
