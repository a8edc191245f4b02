import type { ListOptions, ListPage, WatchEvent, WatchOptions } from '../door.ts'
import { ApiError, type KubeErrorCode } from '../errors.ts'
import type { KubeObject, Resource } from '../resource.ts'
import type { ListWatch } from './reflector-options.ts'

interface Change {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
}

/** One open watch: a queue that its reader waits on. */
class OpenWatch {
  #queue: (WatchEvent<KubeObject> | ApiError | 'end')[] = []
  #wake: (() => void) | undefined

  push(item: WatchEvent<KubeObject> | ApiError | 'end'): void {
    this.#queue.push(item)
    this.#wake?.()
  }

  async *read(signal: AbortSignal): AsyncGenerator<WatchEvent<KubeObject>> {
    const onAbort = () => this.#wake?.()
    signal.addEventListener('abort', onAbort)
    for (;;) {
      signal.throwIfAborted()
      const item = this.#queue.shift()
      if (item === 'end') return
      if (item instanceof ApiError) throw item
      if (item) yield item
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}

/** For tests: a collection with a history, as an API server keeps it, that can cut watches and forget its past. */
export class ModelServer implements ListWatch {
  readonly objects = new Map<string, KubeObject>()
  #history: Change[] = []
  #version = 1
  #oldest = 0
  #uid = 0
  #watches = new Set<OpenWatch>()
  canStream = true
  pageFaults: KubeErrorCode[] = []
  opens = 0
  lists = 0

  put(name: string, labels: Readonly<Record<string, string>> = {}): void {
    const old = this.objects.get(name)
    const uid = old?.metadata.uid ?? `uid-${++this.#uid}`
    const object = { metadata: { name, uid, labels, resourceVersion: String(++this.#version) } }
    this.objects.set(name, object)
    this.#change({ version: this.#version, type: old ? 'MODIFIED' : 'ADDED', object })
  }

  remove(name: string): void {
    const old = this.objects.get(name)
    if (!old) return
    this.objects.delete(name)
    const object = { metadata: { ...old.metadata, resourceVersion: String(++this.#version) } }
    this.#change({ version: this.#version, type: 'DELETED', object })
  }

  bookmark(): void {
    const resourceVersion = String(this.#version)
    for (const watch of this.#watches) watch.push({ type: 'BOOKMARK', resourceVersion, initialEventsEnd: false })
  }

  /** Ends all watches, well or badly. */
  cut(how: 'end' | KubeErrorCode): void {
    for (const watch of this.#watches) watch.push(how === 'end' ? 'end' : fault(how))
    this.#watches.clear()
  }

  /** What came before now can no longer be resumed from. */
  compact(): void {
    this.#history = []
    this.#oldest = this.#version
  }

  async *list<T extends KubeObject>(_: Resource, options: ListOptions = {}): AsyncGenerator<ListPage<T>> {
    this.lists++
    const resourceVersion = String(this.#version)
    const all = [...this.objects.values()]
    const size = options.pageSize ?? 500
    for (let start = 0; start === 0 || start < all.length; start += size) {
      await Promise.resolve()
      const code = this.pageFaults.shift()
      if (code) throw fault(code)
      yield { items: all.slice(start, start + size) as unknown as T[], resourceVersion }
    }
  }

  async *watch<T extends KubeObject>(_: Resource, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    this.opens++
    await Promise.resolve()
    if (options.sendInitialEvents && !this.canStream) throw fault('Invalid')
    const from = Number(options.resourceVersion ?? this.#version)
    if (from < this.#oldest) throw fault('Gone')
    const watch = new OpenWatch()
    if (options.sendInitialEvents) {
      for (const object of this.objects.values()) watch.push({ type: 'ADDED', object })
      watch.push({ type: 'BOOKMARK', resourceVersion: String(this.#version), initialEventsEnd: true })
    } else {
      for (const { version, type, object } of this.#history) if (version > from) watch.push({ type, object })
    }
    this.#watches.add(watch)
    options.onOpen?.()
    try {
      yield* watch.read(options.signal) as AsyncGenerator<WatchEvent<T>>
    } finally {
      this.#watches.delete(watch)
    }
  }

  #change(change: Change): void {
    this.#history.push(change)
    for (const watch of this.#watches) watch.push({ type: change.type, object: change.object })
  }
}

function fault(code: KubeErrorCode): ApiError {
  return new ApiError({ code, method: 'WATCH', path: '/model', seen: 'the model was told to fail' })
}
