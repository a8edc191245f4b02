import { isAlreadyExists, isNotFound, type KubeClient, type Lease, resources } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { AgentIdentity } from './identity.ts'

const namespace = 'fettle-nodes'
const everyMs = 20_000

/** A sign of life, only while the node is out of service on behalf of something that happens on it. */
export class Heartbeat {
  readonly #ports: { readonly client: KubeClient; readonly node: AgentIdentity; readonly clock: Clock }
  #stop: AbortController | undefined
  ended: Promise<void> = Promise.resolve()

  constructor(ports: { readonly client: KubeClient; readonly node: AgentIdentity; readonly clock: Clock }) {
    this.#ports = ports
  }

  set(isAtWork: boolean, signal: AbortSignal): void {
    if (!isAtWork) {
      this.#stop?.abort()
      this.#stop = undefined
      return
    }
    if (this.#stop) return
    this.#stop = new AbortController()
    this.ended = this.#beat(AbortSignal.any([this.#stop.signal, signal]))
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports
    while (!signal.aborted) {
      // A beat that is lost is followed by the next one; the controller counts how long it hears none.
      await this.#once(signal).catch(() => undefined)
      await clock.sleep(everyMs, signal).catch(() => undefined)
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const { client, node, clock } = this.#ports
    const ref = { name: node.name, namespace }
    const renewTime = `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`
    const spec = { holderIdentity: node.uid, renewTime }
    const options = { fieldManager: 'fettle-agent', signal }
    try {
      const lease = await client.get<Lease>(resources.leases, ref, { signal })
      await client.replace<Lease>(resources.leases, { ...lease, spec: { ...lease.spec, ...spec } }, options)
    } catch (error) {
      if (!isNotFound(error)) throw error
      await client.create<Lease>(resources.leases, { metadata: ref, spec }, options).catch((again: unknown) => {
        if (!isAlreadyExists(again)) throw again
      })
    }
  }
}
