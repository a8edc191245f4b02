import type { KubeClient } from '../../src/kube/index.ts'
import { carefulDeletion, openSource, type Policy, type RunParts, type SyncSettings } from '../../src/sync/index.ts'
import { systemClock } from '../../src/time/index.ts'
import type { SyncRepository } from './sync-repository.ts'

export interface EngineOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly repository: SyncRepository
  readonly signal: AbortSignal
  readonly policy?: Partial<Policy>
  readonly settings?: Partial<SyncSettings>
  readonly parts?: Partial<RunParts>
}

/** What `fettle sync` does, without its process: for tests that hold its client or its pace in their hands. */
export async function withEngine<T>(options: EngineOptions, work: (parts: RunParts) => Promise<T>): Promise<T> {
  const { client, namespace, repository, signal } = options
  const policy: Policy = {
    name: namespace,
    namespaces: [namespace],
    mode: 'adopt',
    adoption: 'ifUnowned',
    adoptFrom: [],
    clusterKinds: [],
    ignore: [],
    conflicts: 'fail',
    deletion: carefulDeletion,
    ...options.policy,
  }
  const source = await openSource({
    url: repository.folder,
    ref: { branch: 'main' },
    cacheFolder: repository.folder,
    signal,
  })
  try {
    return await work({
      client,
      clock: systemClock,
      source,
      settings: {
        policy,
        path: '',
        namespaceRule: 'fill',
        ignoreFiles: [],
        healthTimeoutMs: 30_000,
        deleteTimeoutMs: 30_000,
        ...options.settings,
      },
      permits: { confirmed: [] },
      version: '0.0.0',
      report: () => undefined,
      mayCarryOut: () => Promise.resolve(true),
      ...options.parts,
    })
  } finally {
    source.close()
  }
}
