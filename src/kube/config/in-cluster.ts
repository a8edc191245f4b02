import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../time/index.ts'
import { ConfigError } from '../errors.ts'
import type { ClusterConfig } from './config.ts'
import { tokenFile } from './credentials.ts'
import { rotatingFile } from './text-source.ts'

export interface InClusterOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Where the service account is mounted. */
  readonly folder?: string
  readonly clock?: Clock
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The identity that a pod's service account gives. */
export async function loadInCluster(options: InClusterOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env
  const clock = options.clock ?? systemClock
  const folder = options.folder ?? serviceAccountFolder
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443'
  if (!host) throw new ConfigError('NoConfig', 'KUBERNETES_SERVICE_HOST is not set: this is not a pod')
  const token = rotatingFile(join(folder, 'token'), 'service account token', clock)
  // Fails here, with the path in its message, rather than at the first request.
  await token.read()
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca: rotatingFile(join(folder, 'ca.crt'), 'certificate authority of the cluster', clock) },
    credentials: tokenFile(token),
    // Only commands without a namespace miss it.
    namespace: (await podNamespace(folder)) ?? 'default',
    source: 'the service account of this pod',
  }
}

/** Where the pod that this runs in lies. Nothing outside of pods, and in those whose hand-made mount leaves it out. */
export async function podNamespace(folder: string = serviceAccountFolder): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, 'namespace'), 'utf8')).trim() || undefined
  } catch {
    return undefined
  }
}
