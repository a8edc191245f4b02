import {
  ApiError,
  type KubeClient,
  type KubeErrorCode,
  type KubeObject,
  type Lease,
  type ObjectRef,
} from '../../../kube/index.ts'

type Fault = Extract<KubeErrorCode, 'NotFound' | 'AlreadyExists' | 'Conflict'>

/** Leases in memory, with the preconditions of the API server. Whatever else it is asked for is a fault of the test. */
export class FixtureLeases {
  readonly stored = new Map<string, Lease>()
  writes = 0
  /** Runs once before the next write, as somebody who is faster. */
  beforeWrite: (() => Promise<void>) | undefined
  #version = 1

  readonly client = {
    get: (_: unknown, ref: ObjectRef) => Promise.resolve(this.#find(ref)),
    create: async (_: unknown, lease: Lease) => {
      await this.#interlude()
      const key = keyOf(lease.metadata)
      if (this.stored.has(key)) throw fault('AlreadyExists', key)
      return this.put(lease)
    },
    patch: async (_: unknown, ref: ObjectRef, { body }: { readonly body: Lease }) => {
      await this.#interlude()
      const seen = this.#find(ref)
      if (body.metadata.resourceVersion !== seen.metadata.resourceVersion) throw fault('Conflict', keyOf(ref))
      const annotations = { ...seen.metadata.annotations, ...body.metadata.annotations }
      return this.put({ metadata: { ...seen.metadata, annotations }, spec: { ...seen.spec, ...body.spec } })
    },
  } as unknown as KubeClient

  put(lease: Lease): Lease {
    const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version++) } }
    this.stored.set(keyOf(lease.metadata), stored)
    this.writes++
    return stored
  }

  #find(ref: ObjectRef): Lease {
    const found = this.stored.get(keyOf(ref))
    if (!found) throw fault('NotFound', keyOf(ref))
    return found
  }

  async #interlude(): Promise<void> {
    const run = this.beforeWrite
    this.beforeWrite = undefined
    await run?.()
  }
}

function keyOf({ namespace, name }: Pick<KubeObject['metadata'], 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}

function fault(code: Fault, path: string): ApiError {
  return new ApiError({ code, method: 'TEST', path, seen: 'in memory' })
}
