import { setTimeout as sleep } from 'node:timers/promises'
import { type MaintenanceRequest, type MaintenanceRequestStatus, maintenanceRequests } from '../../src/api/index.ts'
import { isAlreadyExists, type KubeObject, resources } from '../../src/kube/index.ts'
import type { Ground, Test } from './e2e-cluster.ts'

const namespace = 'fettle-nodes'
const beatEveryMs = 300

export type HostReport = NonNullable<MaintenanceRequestStatus['host']>

/** The agent of one node, as the queue knows it: a report on each request, and a heartbeat. It does nothing by itself. */
export interface PlayedAgent {
  /** All that it says of a request now. What it said before and not again is gone. */
  report(request: string, host: HostReport): Promise<void>
  /** From now on until it falls silent. */
  beat(): Promise<void>
  fallSilent(): Promise<void>
}

export function playAgent(test: Test, { admin }: Ground, node: string): PlayedAgent {
  let heart: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined
  const fallSilent = async () => {
    heart?.stop.abort()
    await heart?.ended
    heart = undefined
  }
  test.onTestFinished(async () => {
    await fallSilent()
    await admin.delete(resources.leases, { name: node, namespace }, { uid: 'any' }).catch(() => undefined)
  })
  return {
    fallSilent,
    async report(name, host) {
      const said = { metadata: { name }, status: { host } } as unknown as MaintenanceRequest
      // Without force: the controller must never have made a field of the report its own.
      await admin.apply(maintenanceRequests, said, { fieldManager: 'fettle-agent', subresource: 'status' })
    },
    async beat() {
      if (heart) return
      await admin
        .create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error
        })
      const stop = new AbortController()
      const ended = beatUntil(stop.signal, async () => {
        const lease = { metadata: { name: node, namespace }, spec: { renewTime: microTime() } } as KubeObject
        await admin.apply(resources.leases, lease, { fieldManager: 'fettle-agent' })
      })
      heart = { stop, ended }
    },
  }
}

async function beatUntil(signal: AbortSignal, beat: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await beat()
    await sleep(beatEveryMs, undefined, { signal }).catch(() => undefined)
  }
}

/** The API server wants microseconds here. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z')
}
