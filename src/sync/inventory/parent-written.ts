import { type KubeClient, resources } from '../../kube/index.ts'
import { managerOf, type Policy } from '../policy.ts'

/**
 * Resolves when somebody writes the parent of the inventory: a person who approves a plan waits for what follows. Where it
 * may not be watched it never resolves, and whoever looks now and then anyway is a little later.
 */
export function parentWritten(
  client: Pick<KubeClient, 'watch'>,
  { name, namespaces }: Pick<Policy, 'name' | 'namespaces'>,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const follow = async () => {
      const fieldSelector = `metadata.name=${managerOf(name)}`
      let first: string | undefined
      for await (const event of client.watch(resources.secrets, {
        namespace: namespaces[0] ?? '',
        fieldSelector,
        signal,
      })) {
        if (event.type === 'BOOKMARK') continue
        const version = event.object.metadata.resourceVersion
        // A watch begins with what is there.
        first ??= version
        if (version !== first) return resolve()
      }
    }
    follow().catch(() => undefined)
  })
}
