import { get } from 'node:http'
import { type KubeClient, type Lease, type PodObject, resources } from '../kube/index.ts'
import { forwardedHeader, infoPath } from '../server/index.ts'

export interface LeaderPlace {
  readonly client: KubeClient
  readonly namespace: string
  readonly leaseName: string
  /** All replicas have the same. */
  readonly port: number
  readonly token: (() => Promise<string>) | undefined
}

const deadlineMs = 3_000
/** Thousands of nodes with all their checks. */
const mostBytes = 64 * 1024 * 1024

/** What the replica that leads knows of its nodes, as JSON. In place of what it does not answer stands why, as in the original. */
export async function askLeader(place: LeaderPlace): Promise<string> {
  try {
    return await ask(place, AbortSignal.timeout(deadlineMs))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return JSON.stringify({ error: `the replica that leads cannot be asked: ${why}` })
  }
}

async function ask(place: LeaderPlace, signal: AbortSignal): Promise<string> {
  const { client, namespace, leaseName: name, port, token } = place
  const lease = await client.get<Lease>(resources.leases, { namespace, name }, { signal })
  // What follows tells one life of a pod from the next.
  const pod = (lease.spec?.holderIdentity ?? '').replace(/_.*/, '')
  // Between two terms nobody knows anything.
  if (pod === '') return '[]'
  const address = await addressOf(client, namespace, pod, signal)
  if (address === undefined) throw new Error(`there is no pod ${pod} with an address`)
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}${infoPath}`
  const authorization = token && `Bearer ${(await token()).trim()}`
  return textOf(url, { [forwardedHeader]: 'true', ...(authorization ? { authorization } : {}) }, signal)
}

/** By a list: the controller may not get single pods, and needs it for nothing else. */
async function addressOf(
  client: KubeClient,
  namespace: string,
  pod: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const fieldSelector = `metadata.name=${pod}`
  for await (const { items } of client.list<PodObject>(resources.pods, { namespace, fieldSelector, signal }))
    for (const { status } of items) return status?.podIP
  return undefined
}

function textOf(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers, signal, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > mostBytes) asked.destroy(new Error(`it answered with more than ${mostBytes} bytes`))
      })
      answer.once('end', () =>
        answer.statusCode === 200
          ? resolve(Buffer.concat(chunks).toString('utf8'))
          : reject(new Error(`it answered ${answer.statusCode}`)),
      )
      answer.once('error', reject)
    })
    asked.once('error', reject)
  })
}
