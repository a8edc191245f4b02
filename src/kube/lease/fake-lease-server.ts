import { ApiError, type KubeErrorCode } from '../errors.ts'
import type { Lease } from '../kinds.ts'
import type { LeaderOptions } from './lease.ts'

/** What becomes of one request. Delays are real waiting on the clock of the test. */
export type Fate = 'answered' | 'lost before' | 'answer lost' | 'hangs' | 'hangs after storing'

/** One Lease on an API server that compares and swaps as the real one does, and breaks as a test asks. */
export class FakeLeaseServer {
  lease: Lease | undefined
  #version = 1
  #uid = 0

  client(delay: () => Promise<void>, fate: () => Fate): LeaderOptions['client'] {
    const call = async <T>(act: () => T): Promise<T> => {
      const mine = fate()
      await delay()
      if (mine === 'lost before') throw refusal('Unreachable')
      if (mine === 'hangs') return new Promise<T>(() => undefined)
      const answer = act()
      await delay()
      if (mine === 'answer lost') throw refusal('UnknownOutcome')
      if (mine === 'hangs after storing') return new Promise<T>(() => undefined)
      return answer
    }
    // The door is generic over kinds; here there is only one.
    return {
      get: () => call(() => this.get()),
      create: (_: unknown, lease: Lease) => call(() => this.create(lease)),
      replace: (_: unknown, lease: Lease) => call(() => this.replace(lease)),
    } as unknown as LeaderOptions['client']
  }

  get(): Lease {
    if (!this.lease) throw refusal('NotFound')
    return this.lease
  }

  create(lease: Lease): Lease {
    if (this.lease) throw refusal('AlreadyExists')
    return this.#store(lease, `uid-${++this.#uid}`)
  }

  replace(lease: Lease): Lease {
    const { uid, resourceVersion } = lease.metadata
    // As the real one: a PUT creates a Lease that does not exist, whatever version it carries, unless it names a uid.
    if (!this.lease && uid === undefined) return this.create(lease)
    if (uid !== this.lease?.metadata.uid) throw refusal('Conflict')
    if (resourceVersion !== this.lease?.metadata.resourceVersion) throw refusal('Conflict')
    return this.#store(lease, uid ?? '')
  }

  /** A hand that asks nobody. */
  edit(change: (lease: Lease) => Lease): void {
    if (this.lease) this.#store(change(this.lease), this.lease.metadata.uid ?? '')
  }

  #store(lease: Lease, uid: string): Lease {
    const resourceVersion = String(++this.#version)
    this.lease = structuredClone({ ...lease, metadata: { ...lease.metadata, uid, resourceVersion } })
    return this.lease
  }
}

function refusal(code: KubeErrorCode): ApiError {
  return new ApiError({ code, method: 'PUT', path: '/lease', seen: 'as the test wanted' })
}
