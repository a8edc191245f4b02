import {
  ApiError,
  type KubeClient,
  type KubeErrorCode,
  type KubeObject,
  type ObjectRef,
  type Resource,
} from '../../kube/index.ts'

/** What becomes of one request. */
export type Fate = 'answered' | 'lost before' | 'lost in doubt' | 'answer lost' | 'forbidden' | 'not found' | 'hangs'

/** For unit tests: objects on an API server that compares and swaps as the real one does, and breaks as a test asks. */
export class MemoryCluster {
  readonly objects = new Map<string, KubeObject>()
  /** Names such as `create secrets/one`, in the order in which they came. */
  readonly seen: string[] = []
  #version = 100
  #uid = 0

  /** The fate is asked with the number of requests that came before, and the name of this one. */
  client(fate: (before: number, what: string) => Fate = () => 'answered'): KubeClient {
    let count = 0
    const call = async <T>(what: string, act: () => T): Promise<T> => {
      const mine = fate(count++, what)
      this.seen.push(what)
      await Promise.resolve()
      if (mine === 'lost before') throw refusal('Unreachable')
      if (mine === 'lost in doubt') throw refusal('UnknownOutcome')
      if (mine === 'forbidden') throw refusal('Forbidden')
      if (mine === 'not found') throw refusal('NotFound')
      if (mine === 'hangs') return new Promise<T>(() => undefined)
      const answer = structuredClone(act())
      await Promise.resolve()
      if (mine === 'answer lost') throw refusal('UnknownOutcome')
      return answer
    }
    const list = (resource: Resource, options: { namespace?: string; labelSelector?: string } = {}) =>
      call(`list ${resource.plural}`, () => ({ items: this.#listed(resource, options), resourceVersion: '1' }))
    const client = {
      get: (resource: Resource, ref: ObjectRef) =>
        call(`get ${resource.plural}/${ref.name}`, () => this.#get(path(resource, ref))),
      list: async function* (resource: Resource, options: { namespace?: string; labelSelector?: string }) {
        yield await list(resource, options)
      },
      create: (resource: Resource, object: KubeObject) =>
        call(`create ${resource.plural}/${object.metadata.name}`, () => this.#create(resource, object)),
      replace: (resource: Resource, object: KubeObject) =>
        call(`replace ${resource.plural}/${object.metadata.name}`, () => this.#replace(resource, object)),
    }
    // The door is generic over kinds, and has more verbs than an inventory needs.
    return client as unknown as KubeClient
  }

  /** A hand that asks nobody. */
  edit<T extends KubeObject>(resource: Resource, ref: ObjectRef, change: (object: T) => T | undefined): void {
    const where = path(resource, ref)
    const changed = change(this.#get(where) as T)
    if (changed) this.#store(where, changed)
    else this.objects.delete(where)
  }

  #listed(resource: Resource, { namespace, labelSelector }: { namespace?: string; labelSelector?: string }) {
    const [label = '', value] = labelSelector?.split('=') ?? []
    return [...this.objects]
      .filter(([where]) => where.startsWith(`${resource.plural}/${namespace ?? ''}`))
      .map(([, object]) => object)
      .filter(({ metadata }) => label === '' || metadata.labels?.[label] === value)
  }

  #get(where: string): KubeObject {
    const object = this.objects.get(where)
    if (!object) throw refusal('NotFound')
    return object
  }

  #create(resource: Resource, object: KubeObject): KubeObject {
    const where = path(resource, object.metadata)
    if (this.objects.has(where)) throw refusal('AlreadyExists')
    return this.#store(where, { ...object, metadata: { ...object.metadata, uid: `uid-${++this.#uid}` } })
  }

  #replace(resource: Resource, object: KubeObject): KubeObject {
    const where = path(resource, object.metadata)
    const { uid, resourceVersion } = this.#get(where).metadata
    if (object.metadata.uid !== uid || object.metadata.resourceVersion !== resourceVersion) throw refusal('Conflict')
    return this.#store(where, object)
  }

  #store(where: string, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }
    this.objects.set(where, structuredClone(stored))
    return stored
  }
}

function path(
  { plural }: Resource,
  { namespace, name }: { readonly namespace?: string; readonly name?: string },
): string {
  return `${plural}/${namespace ?? ''}/${name ?? ''}`
}

function refusal(code: KubeErrorCode): ApiError {
  return new ApiError({ code, method: 'PUT', path: '/memory', seen: 'as the test wanted' })
}
