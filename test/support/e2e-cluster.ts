import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject, type TestContext } from 'vitest'
import {
  adminKubeconfig,
  type ClusterRecord,
  controlPlaneProgram,
  type FaultProxy,
  killComponent,
  places,
  readRecord,
  restartComponents,
  startFaultProxy,
} from '../../src/dev/index.ts'
import {
  type ClientOptions,
  type ClusterConfig,
  type ConnectedClient,
  connect,
  fixedCredential,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type PodObject,
  resources,
  Secret,
} from '../../src/kube/index.ts'

/** Where clean-up is registered: the context of the running test. */
export type Test = Pick<TestContext, 'onTestFinished'>

/** The API server with every right, and a namespace that no other test uses. */
export interface Ground {
  readonly record: ClusterRecord
  readonly config: ClusterConfig
  readonly admin: ConnectedClient
  readonly namespace: string
  /** Aborts when the test is over, before anything else is cleaned up. */
  readonly signal: AbortSignal
}

export function sharedRecord(): ClusterRecord {
  const name = inject('sharedCluster')
  const record = readRecord(name, places())
  if (!record) throw new Error(`the shared cluster ${name} has no record; the global set-up brings it up`)
  return record
}

export async function prepareGround(test: Test): Promise<Ground> {
  const record = sharedRecord()
  const config = await loadKubeconfig({ path: adminKubeconfig(record) })
  const admin = connect(config, { component: 'e2e' })
  test.onTestFinished(() => admin.close())
  const namespace = `e2e-${randomBytes(5).toString('hex')}`
  const { metadata } = await admin.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
  test.onTestFinished(async () => {
    // Whatever else is left in it disturbs nobody, and taking a namespace down costs more than most tests.
    if (!(await hasPods(admin, namespace))) return
    await admin.delete(resources.namespaces, { name: namespace }, { uid: metadata.uid ?? '' })
  })
  const end = new AbortController()
  test.onTestFinished(() => end.abort(new Error('the test is over')))
  return { record, config, admin, namespace, signal: end.signal }
}

async function hasPods(admin: KubeClient, namespace: string): Promise<boolean> {
  for await (const { items } of admin.list(resources.pods, { namespace })) if (items.length > 0) return true
  return false
}

export interface ProxiedCluster {
  readonly proxy: FaultProxy
  readonly config: ClusterConfig
  readonly client: ConnectedClient
}

/** A client whose every byte goes through a proxy that breaks things. It speaks as a service account with all rights. */
export async function connectThroughProxy(
  test: Test,
  ground: Ground,
  options: Partial<ClientOptions> = {},
): Promise<ProxiedCluster> {
  const token = await almightyToken(test, ground)
  const proxy = await startFaultProxy(ground.record)
  test.onTestFinished(() => proxy.close())
  const config = { ...ground.config, server: proxy.url, credentials: fixedCredential({ token: new Secret(token) }) }
  const client = connect(config, { component: 'e2e', ...options })
  test.onTestFinished(() => client.close())
  return { proxy, config, client }
}

async function almightyToken(test: Test, ground: Ground): Promise<string> {
  const { admin, config, namespace } = ground
  const { name } = await createAccount(ground, `almighty-${randomBytes(3).toString('hex')}`)
  await bindClusterRole(test, admin, 'cluster-admin', { kind: 'ServiceAccount', name, namespace })
  const token = await requestToken(admin, { namespace, name })
  const probe = connect(
    { ...config, credentials: fixedCredential({ token: new Secret(token) }) },
    { component: 'e2e-probe' },
  )
  try {
    // The API server's own view of roles follows a moment later.
    await eventually(() => probe.get(resources.namespaces, { name: namespace }), { withinMs: 10_000 })
  } finally {
    probe.close()
  }
  return token
}

/** Gives a cluster role to somebody, everywhere, until the test is over. */
export async function bindClusterRole(
  test: Test,
  admin: KubeClient,
  role: string,
  subject: { readonly kind: string; readonly name: string; readonly namespace?: string },
): Promise<void> {
  const name = `e2e-${randomBytes(5).toString('hex')}`
  await admin.create(resources.clusterRoleBindings, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [subject],
  } as KubeObject)
  test.onTestFinished(() => admin.delete(resources.clusterRoleBindings, { name }, { uid: 'any' }))
}

export interface Account {
  readonly name: string
  readonly namespace: string
  /** The name that the API server knows it by. */
  readonly user: string
}

export async function createAccount({ admin, namespace }: Ground, name: string): Promise<Account> {
  await admin.create<KubeObject>(resources.serviceAccounts, { metadata: { name, namespace } })
  return { name, namespace, user: `system:serviceaccount:${namespace}:${name}` }
}

export async function requestToken(
  admin: KubeClient,
  account: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const reply = await admin.request<{ readonly status: { readonly token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  })
  return reply.status.token
}

/** Starts whatever of the control plane was killed. Registered before the kill, so that a failing test heals it too. */
export async function restartControlPlane(record: ClusterRecord): Promise<void> {
  const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
  await restartComponents(record, program)
}

/** Kills the API server, as a crash would. Answers how to bring it back, which also happens when the test fails. */
export async function killedApiServer(test: Test, record: ClusterRecord): Promise<() => Promise<void>> {
  const restart = () => restartControlPlane(record)
  test.onTestFinished(restart)
  await killComponent(record, 'kube-apiserver')
  return restart
}

/** Repeats until it neither throws nor rejects; the last failure is the one that is told. */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { readonly withinMs: number; readonly everyMs?: number },
): Promise<T> {
  const deadline = performance.now() + options.withinMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() >= deadline) throw error
    }
    await sleep(options.everyMs ?? 20)
  }
}

/** How long something took, and what it gave or threw. */
export async function timed<T>(run: () => Promise<T>): Promise<{ ms: number; value?: T; error?: unknown }> {
  const started = performance.now()
  try {
    const value = await run()
    return { ms: performance.now() - started, value }
  } catch (error) {
    return { ms: performance.now() - started, error }
  }
}

/** A pod that is bound to a node from the start, as simulated nodes run it. */
export function boundPod(namespace: string, name: string, nodeName: string, more: Partial<KubeObject> = {}): PodObject {
  return {
    ...more,
    metadata: { name, namespace, ...more.metadata },
    spec: { nodeName, containers: [{ name: 'main', image: 'none.invalid/nothing' }] },
  } as PodObject
}

/** Pods are refused while the namespace has no default account, and its controller takes a moment. */
export async function ensureDefaultAccount({ admin, namespace }: Ground): Promise<void> {
  try {
    await admin.create<KubeObject>(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}

export function temporaryFolder(test: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'fettle-e2e-'))
  test.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
