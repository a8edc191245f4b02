import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import type { ClusterRecord } from '../../src/dev/index.ts'
import type { Test } from './e2e-cluster.ts'

/** Passes bytes to the API server and back without understanding them, TLS and all, so that client certificates work. */
export interface ByteRelay {
  readonly url: string
  /** The next requests get through, but their answers do not come back: the connection breaks instead. */
  loseAnswers(count: number): void
  /** Of the next answer this many bytes arrive, then nothing more, and the connection stays open. */
  stallAnswerAfter(bytes: number): void
  /** Answers that were lost or stalled. */
  readonly harmed: number
  /** Connections that are open now. */
  readonly connections: number
}

export async function startByteRelay(test: Test, record: ClusterRecord): Promise<ByteRelay> {
  let toLose = 0
  let stallAfter: number | undefined
  let harmed = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = createConnection({ host: '127.0.0.1', port: record.ports.apiServer })
    open.add(client)
    let isHarmful = false
    let isStalled = false
    for (const socket of [client, upstream]) {
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
        open.delete(client)
      })
    }
    client.on('data', (bytes) => {
      isHarmful = toLose > 0 || stallAfter !== undefined
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (isStalled) return
      if (!isHarmful) {
        client.write(bytes)
        return
      }
      harmed++
      if (stallAfter === undefined) {
        toLose--
        client.destroy()
        return
      }
      isStalled = true
      client.write(bytes.subarray(0, stallAfter))
      stallAfter = undefined
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswers(count) {
      toLose = count
    },
    stallAnswerAfter(bytes) {
      stallAfter = bytes
    },
    get harmed() {
      return harmed
    },
    get connections() {
      return open.size
    },
  }
}
