import type { KubeClient } from '../door.ts'
import type { LeaderTerm } from '../lease/leader-term.ts'

/** The same client, for a leader: it refuses to write once the term is over, however late the caller notices. */
export function fencedClient(client: KubeClient, term: Pick<LeaderTerm, 'assertStillLeader'>): KubeClient {
  const fenced =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      term.assertStillLeader()
      return write(...args)
    }
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    create: fenced((resource, object, options) => client.create(resource, object, options)) as KubeClient['create'],
    replace: fenced((resource, object, options) => client.replace(resource, object, options)) as KubeClient['replace'],
    patch: fenced((resource, ref, patch, options) =>
      client.patch(resource, ref, patch, options),
    ) as KubeClient['patch'],
    apply: fenced((resource, object, options) => client.apply(resource, object, options)) as KubeClient['apply'],
    delete: fenced((resource, ref, options) => client.delete(resource, ref, options)) as KubeClient['delete'],
    evict: fenced((pod, options) => client.evict(pod, options)),
    request: fenced((options) => client.request(options)) as KubeClient['request'],
    close: () => client.close(),
  }
}
