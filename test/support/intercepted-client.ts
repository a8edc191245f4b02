import type { KubeClient } from '../../src/kube/index.ts'

/** Stands around a write: sends it, or not, and sees how it ends. */
export type Interceptor = <T>(write: string, send: () => Promise<T>) => Promise<T>

/** The same client, with somebody at the door for whatever changes something. Names such as `patch nodes/node-1`. */
export function interceptWrites(client: KubeClient, around: Interceptor): KubeClient {
  const path = (...parts: (string | undefined)[]) => parts.filter((part) => part !== undefined).join('/')
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    request: (options) => client.request(options),
    close: () => client.close(),
    create: (resource, object, options) =>
      around(`create ${path(resource.plural, object.metadata.name)}`, () => client.create(resource, object, options)),
    replace: (resource, object, options) =>
      around(`replace ${path(resource.plural, object.metadata.name, options?.subresource)}`, () =>
        client.replace(resource, object, options),
      ),
    patch: (resource, ref, patch, options) =>
      around(`patch ${path(resource.plural, ref.name, options?.subresource)}`, () =>
        client.patch(resource, ref, patch, options),
      ),
    apply: (resource, object, options) =>
      around(`apply ${path(resource.plural, object.metadata.name)}`, () => client.apply(resource, object, options)),
    delete: (resource, ref, options) =>
      around(`delete ${path(resource.plural, ref.name)}`, () => client.delete(resource, ref, options)),
    evict: (pod, options) => around(`evict ${options.uid}`, () => client.evict(pod, options)),
  }
}
