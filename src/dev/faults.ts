import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess, freezeProcess, signalProcess } from '../host/index.ts'
import { type KubeClient, type KubeObject, resources } from '../kube/index.ts'
import type { ClusterRecord } from './cluster-record.ts'
import { runningComponents } from './components.ts'
import { type ControlPlaneComponent, startControlPlane } from './control-plane.ts'
import { DevFault } from './errors.ts'

/** Ends one component at once, as a crash would. It stays down until `restartComponents`. */
export async function killComponent(record: ClusterRecord, component: ControlPlaneComponent): Promise<void> {
  const running = runningComponents(record.folder).filter((process) => process.component === component)
  if (running.length === 0) throw new DevFault(`${component} of cluster ${record.name} does not run`)
  for (const { identity } of running) signalProcess(identity, 'SIGKILL')
  await Promise.all(running.map(({ identity }) => endProcess(identity)))
}

/** Starts what is missing and waits until the API server is ready again. */
export async function restartComponents(record: ClusterRecord, program: string): Promise<void> {
  await startControlPlane(record, program)
}

/** Freezes a component: its connections stay open and nothing answers. Returns the way back. */
export async function freezeComponent(record: ClusterRecord, component: ControlPlaneComponent): Promise<() => void> {
  const running = runningComponents(record.folder).filter((process) => process.component === component)
  await Promise.all(running.map(({ identity }) => freezeProcess(identity)))
  return () => {
    for (const { identity } of running) signalProcess(identity, 'SIGCONT')
  }
}

export interface ExpirableToken {
  readonly token: string
  /** Resolves when the API server answers 401 to this token; it remembers a token it has seen for ten seconds. */
  expire(): Promise<void>
}

/**
 * A real service-account token that can be ended on demand. It is bound to a Secret: the API server refuses it as
 * soon as that Secret is gone, which is exactly what an expired token looks like from outside.
 */
export async function issueExpirableToken(
  client: KubeClient,
  account: { readonly namespace: string; readonly name: string },
): Promise<ExpirableToken> {
  const secret = await client.create<KubeObject>(resources.secrets, {
    metadata: { generateName: 'bound-token-', namespace: account.namespace },
  })
  const { name = '', uid = '' } = secret.metadata
  const reply = await client.request<{ readonly status: { readonly token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid } },
    },
  })
  return {
    token: reply.status.token,
    expire: async () => {
      await client.delete(resources.secrets, { name, namespace: account.namespace }, { uid })
      await untilRefused(client, reply.status.token)
    },
  }
}

async function untilRefused(client: KubeClient, token: string): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt++) {
    const review = await client.request<{ readonly status?: { readonly authenticated?: boolean } }>({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
    })
    if (!review.status?.authenticated) return
    await sleep(200)
  }
  throw new DevFault('the API server still takes a token 30 s after the Secret that it is bound to was deleted')
}
