import type { CallOptions, KubeClient } from '../door.ts'
import type { LeaderTerm } from '../lease/leader-term.ts'

/**
 * The same client, for a leader: it refuses to write once the term is over, however late the caller notices. Repetitions
 * ask again: between two of them there may be half a minute, and then somebody else may lead.
 */
export function fencedClient(client: KubeClient, term: Pick<LeaderTerm, 'assertStillLeader'>): KubeClient {
  const fenced = <O extends CallOptions>(options: O): O & CallOptions => {
    term.assertStillLeader()
    const beforeAttempt = () => {
      options.beforeAttempt?.()
      term.assertStillLeader()
    }
    return { ...options, beforeAttempt }
  }
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    create: async (resource, object, options = {}) => client.create(resource, object, fenced(options)),
    replace: async (resource, object, options = {}) => client.replace(resource, object, fenced(options)),
    patch: async (resource, ref, patch, options = {}) => client.patch(resource, ref, patch, fenced(options)),
    apply: async (resource, object, options) => client.apply(resource, object, fenced(options)),
    delete: async (resource, ref, options) => client.delete(resource, ref, fenced(options)),
    evict: async (pod, options) => client.evict(pod, fenced(options)),
    request: async (options) => client.request(fenced(options)),
    close: () => client.close(),
  }
}
