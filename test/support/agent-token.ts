import { readFileSync, writeFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { agentRbacManifests } from '../../src/cli/install-rbac.ts'
import { isAlreadyExists, type KubeClient, type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'

const [namespace, account] = ['fettle-system', 'fettle-agent']

/** A token with the agent's rights as its pod on this node has it: bound to the pod, and so to the node. */
export async function agentToken(admin: KubeClient, nodeName: string): Promise<string> {
  await made(admin.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } }))
  await made(admin.create<KubeObject>(resources.namespaces, { metadata: { name: 'fettle-nodes' } }))
  for (const { resource, object } of agentRbacManifests({ namespace, version: '0', managedBy: 'e2e' }))
    await admin.apply(resource, object, { fieldManager: 'e2e', force: true })
  const pod = await admin.create<PodObject>(resources.pods, {
    metadata: { generateName: `agent-of-${nodeName}-`, namespace },
    spec: { nodeName, serviceAccountName: account, containers: [{ name: 'agent', image: 'agent' }] },
  } as unknown as PodObject)
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid }
  const reply = await admin.request<{ readonly status: { readonly token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { boundObjectRef, expirationSeconds: 86_400 },
    },
  })
  return reply.status.token
}

/** The same cluster, seen by whoever has that token. */
export function agentKubeconfig(adminPath: string, token: string, path: string): string {
  const config = parse(readFileSync(adminPath, 'utf8')) as { users: { user: object }[] }
  for (const entry of config.users) entry.user = { token }
  writeFileSync(path, stringify(config), { mode: 0o600 })
  return path
}

async function made(creation: Promise<unknown>): Promise<void> {
  await creation.catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  })
}
