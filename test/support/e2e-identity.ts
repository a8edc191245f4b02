import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type ConnectedClient, connect, type KubeClient, loadKubeconfig } from '../../src/kube/index.ts'
import { type Ground, type Test, temporaryFolder } from './e2e-cluster.ts'

type Body = Readonly<Record<string, string>>

/** How the embedded cluster's own kubeconfig reaches the API server, and as whom. */
export function adminEntries({ record }: Ground): { readonly cluster: Body; readonly user: Body } {
  const { clusters, users } = JSON.parse(readFileSync(adminKubeconfig(record), 'utf8')) as {
    readonly clusters: readonly { readonly cluster: Body }[]
    readonly users: readonly { readonly user: Body }[]
  }
  return { cluster: clusters[0]?.cluster ?? {}, user: users[0]?.user ?? {} }
}

/** A kubeconfig for the real API server with this user entry. Answers its path. */
export function writeKubeconfig(test: Test, ground: Ground, user: object, folder = temporaryFolder(test)): string {
  const path = join(folder, 'kubeconfig')
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'real', cluster: adminEntries(ground).cluster }],
    users: [{ name: 'tester', user }],
    contexts: [{ name: 'here', context: { cluster: 'real', user: 'tester', namespace: ground.namespace } }],
  }
  writeFileSync(path, JSON.stringify(document))
  return path
}

export async function connectWith(test: Test, kubeconfig: string): Promise<ConnectedClient> {
  const client = connect(await loadKubeconfig({ path: kubeconfig }), { component: 'e2e' })
  test.onTestFinished(() => client.close())
  return client
}

/** Whom the API server takes us for. */
export async function whoAmI(client: KubeClient): Promise<Readonly<Record<string, unknown>>> {
  const review = await client.request<{ readonly status: { readonly userInfo: Record<string, unknown> } }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
  return review.status.userInfo
}
