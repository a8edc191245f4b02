import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import {
  type ConnectedClient,
  connect,
  type Guard,
  isNotFound,
  type KubeObject,
  loadConfig,
  type Resource,
} from '../kube/index.ts'
import { CliFault } from './context.ts'

export interface ClusterFlags {
  readonly kubeconfig?: string
  readonly context?: string
}

/** Which cluster a command talks to: the same flags everywhere. */
export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig to use')
}

/** A guard refuses requests before they leave. The server's own log names who speaks. */
export async function withCluster<T>(
  flags: ClusterFlags,
  work: (client: ConnectedClient) => Promise<T>,
  { guard, component = 'cli' }: { readonly guard?: Guard; readonly component?: string } = {},
): Promise<T> {
  const config = await loadConfig({
    ...(flags.kubeconfig ? { path: flags.kubeconfig } : {}),
    ...(flags.context ? { context: flags.context } : {}),
  })
  const client = connect(config, {
    component,
    version: manifest.version,
    isPatient: true,
    ...(guard ? { guard } : {}),
  })
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

export async function listAll<T extends KubeObject>(client: ConnectedClient, resource: Resource): Promise<T[]> {
  const found: T[] = []
  for await (const page of client.list<T>(resource)) found.push(...page.items)
  return found
}

/** For calls about our own kinds: a cluster that does not know them has no Fettle. */
export function notInstalled(error: unknown): never {
  if (!isNotFound(error)) throw error
  throw new CliFault(
    'Fettle is not installed in this cluster: it knows no MaintenanceRequest; `fettle install` installs it',
  )
}
