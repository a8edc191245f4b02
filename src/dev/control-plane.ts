import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type ProcessIdentity, startDetached } from '../host/index.ts'
import type { KubeClient } from '../kube/index.ts'
import { type CertificateOrder, certificateFolder, issueCertificates } from './certificates.ts'
import { apiServerUrl, type ClusterRecord, isFree } from './cluster-record.ts'
import { markedEnvironment, runningComponents } from './components.ts'
import { connectTo } from './connect.ts'
import { DevFault } from './errors.ts'
import { packageFolder } from './places.ts'

/** In the order in which they start. */
export const controlPlaneComponents = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
] as const
export type ControlPlaneComponent = (typeof controlPlaneComponents)[number]

/** Where real nodes find the API server; nothing listens there before the first one is added. */
export function bridgeAddress(record: Pick<ClusterRecord, 'index'>): string {
  return `10.89.${record.index}.1`
}

const identities = [
  { file: 'kubeconfig', certificate: 'admin', commonName: 'fettle-dev-admin', organization: 'system:masters' },
  {
    file: 'controller-manager.kubeconfig',
    certificate: 'controller-manager',
    commonName: 'system:kube-controller-manager',
  },
  { file: 'scheduler.kubeconfig', certificate: 'scheduler', commonName: 'system:kube-scheduler' },
  { file: 'kwok.kubeconfig', certificate: 'kwok', commonName: 'fettle-dev-kwok', organization: 'system:masters' },
] as const

/** Makes certificates and kubeconfigs. What exists stays as it is. */
export async function prepareControlPlane(record: ClusterRecord, program: string): Promise<void> {
  for (const folder of ['logs', 'etcd']) mkdirSync(join(record.folder, folder), { recursive: true, mode: 0o700 })
  const serving: CertificateOrder[] = [
    {
      name: 'kube-apiserver',
      commonName: 'kube-apiserver',
      ips: ['127.0.0.1', '10.96.0.1', bridgeAddress(record)],
      dnsNames: [
        'localhost',
        'kubernetes',
        'kubernetes.default',
        'kubernetes.default.svc',
        'kubernetes.default.svc.cluster.local',
      ],
    },
    { name: 'kubelet-client', commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
  ]
  const clients = identities.map((identity) => ({
    name: identity.certificate,
    commonName: identity.commonName,
    organizations: 'organization' in identity ? [identity.organization] : [],
  }))
  await issueCertificates(record, program, [...serving, ...clients])
  for (const { file, certificate } of identities)
    writeFileSync(join(record.folder, file), kubeconfigText(record, certificate, apiServerUrl(record)), { mode: 0o600 })
}

/** A kubeconfig that carries everything inside, so that the file can be copied anywhere. */
export function kubeconfigText(record: ClusterRecord, certificate: string, server: string): string {
  const read = (name: string) => readFileSync(join(certificateFolder(record), name)).toString('base64')
  const name = `fettle-dev-${record.name}`
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': read('ca.crt') } }],
    users: [
      {
        name,
        user: { 'client-certificate-data': read(`${certificate}.crt`), 'client-key-data': read(`${certificate}.key`) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
  // JSON is YAML, and needs no library to write.
  return `${JSON.stringify(document, null, 2)}\n`
}

/** In the folder of the cluster, where all components start; a whole path could be too long for a socket. */
const etcdUrl = 'unix://etcd.sock'

export function componentArguments(record: ClusterRecord, component: ControlPlaneComponent): string[] {
  const certificate = (name: string) => join(certificateFolder(record), name)
  const kubeconfig = (name: string) => join(record.folder, `${name}.kubeconfig`)
  const { ports } = record
  switch (component) {
    case 'etcd':
      return [
        `--data-dir=${join(record.folder, 'etcd')}`,
        `--client-url=${etcdUrl}`,
        `--peer-url=http://127.0.0.1:${ports.etcdPeer}`,
        // A development cluster may lose its last second in a power cut; it must not wait for the disk.
        '--unsafe-no-fsync',
      ]
    case 'kube-apiserver':
      return [
        '--bind-address=127.0.0.1',
        `--secure-port=${ports.apiServer}`,
        `--advertise-address=${bridgeAddress(record)}`,
        `--etcd-servers=${etcdUrl}`,
        `--client-ca-file=${certificate('ca.crt')}`,
        `--tls-cert-file=${certificate('kube-apiserver.crt')}`,
        `--tls-private-key-file=${certificate('kube-apiserver.key')}`,
        `--kubelet-client-certificate=${certificate('kubelet-client.crt')}`,
        `--kubelet-client-key=${certificate('kubelet-client.key')}`,
        // Else logs and exec look the node's name up in DNS.
        '--kubelet-preferred-address-types=InternalIP',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${certificate('service-account.key')}`,
        `--service-account-signing-key-file=${certificate('service-account.key')}`,
        '--service-cluster-ip-range=10.96.0.0/16',
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        // Node agents are privileged pods.
        '--allow-privileged=true',
        // No kube-proxy runs beside the API server: it reaches webhooks by pod address instead of service address.
        '--enable-aggregator-routing=true',
        '--profiling=false',
      ]
    case 'kube-controller-manager':
      return [
        '--bind-address=127.0.0.1',
        `--secure-port=${ports.controllerManager}`,
        ...asClient(kubeconfig('controller-manager')),
        `--root-ca-file=${certificate('ca.crt')}`,
        `--service-account-private-key-file=${certificate('service-account.key')}`,
        `--cluster-signing-cert-file=${certificate('ca.crt')}`,
        `--cluster-signing-key-file=${certificate('ca.key')}`,
        '--use-service-account-credentials=true',
        // Real nodes carry their pod network in their own configuration.
        '--allocate-node-cidrs=false',
        `--node-monitor-grace-period=${record.nodeLeaseSeconds}s`,
      ]
    case 'kube-scheduler':
      return ['--bind-address=127.0.0.1', `--secure-port=${ports.scheduler}`, ...asClient(kubeconfig('scheduler'))]
    case 'kwok': {
      const stages = join(packageFolder(), 'cluster', 'stages')
      return [
        `--kubeconfig=${kubeconfig('kwok')}`,
        '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
        `--node-lease-duration-seconds=${record.nodeLeaseSeconds}`,
        '--node-ip=127.0.0.1',
        '--cidr=10.97.0.0/16',
        `--server-address=127.0.0.1:${ports.kwok}`,
        `--config=${join(stages, 'kwok.yaml')}`,
        `--config=${join(stages, 'node.yaml')}`,
        `--config=${join(stages, 'pod.yaml')}`,
        '--v=WARN',
      ]
    }
  }
}

/** One replica of each, and no one else to be fair to: no election, generous request rates. */
function asClient(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
  ]
}

export async function startComponent(
  record: ClusterRecord,
  program: string,
  component: ControlPlaneComponent,
): Promise<ProcessIdentity> {
  const running = runningComponents(record.folder).find((process) => process.component === component)
  if (running) return running.identity
  const port = listeningPort(record, component)
  // A process that was killed is gone a moment before its last thread lets go of its sockets.
  for (let waitedMs = 0; !(await isFree(port)); waitedMs += 100) {
    if (waitedMs >= 3_000)
      throw new DevFault(
        `port ${port}, which ${component} of cluster ${record.name} uses, is taken by another process: ` +
          `end that process, or make the cluster anew with \`fettle dev down --name ${record.name}\` and \`up\``,
      )
    await sleep(100)
  }
  return startDetached([program, component, ...componentArguments(record, component)], {
    logPath: logPath(record, component),
    env: markedEnvironment(record.folder, component),
    cwd: record.folder,
  })
}

function listeningPort({ ports }: ClusterRecord, component: ControlPlaneComponent): number {
  switch (component) {
    case 'etcd':
      return ports.etcdPeer
    case 'kube-apiserver':
      return ports.apiServer
    case 'kube-controller-manager':
      return ports.controllerManager
    case 'kube-scheduler':
      return ports.scheduler
    case 'kwok':
      return ports.kwok
  }
}

export function logPath(record: Pick<ClusterRecord, 'folder'>, component: string): string {
  return join(record.folder, 'logs', `${component}.log`)
}

/** Starts what does not run yet and waits until the API server says it is ready. */
export async function startControlPlane(
  record: ClusterRecord,
  program: string,
  components: readonly ControlPlaneComponent[] = controlPlaneComponents,
  signal?: AbortSignal,
): Promise<void> {
  const first = components.slice(0, 2)
  const identities: [ControlPlaneComponent, ProcessIdentity][] = []
  for (const component of first) identities.push([component, await startComponent(record, program, component)])
  const client = await connectTo(record)
  try {
    await waitUntilReady(record, client, identities, signal)
  } finally {
    client.close()
  }
  // These give up when they find no API server for ten seconds, so they come after it.
  for (const component of components) if (!first.includes(component)) await startComponent(record, program, component)
}

async function waitUntilReady(
  record: ClusterRecord,
  client: KubeClient,
  identities: readonly [ControlPlaneComponent, ProcessIdentity][],
  signal: AbortSignal | undefined,
): Promise<void> {
  let last: unknown
  for (let attempt = 0; attempt < 600; attempt++) {
    signal?.throwIfAborted()
    for (const [component, identity] of identities)
      if (!isAlive(identity)) throw new DevFault(`${component} ended while starting:\n${logTail(record, component)}`)
    try {
      await client.request({ method: 'GET', path: '/readyz', deadlineMs: 2_000, ...(signal ? { signal } : {}) })
      return
    } catch (error) {
      last = error
      await sleep(100)
    }
  }
  throw new DevFault(`the API server is not ready after 60 s:\n${logTail(record, 'kube-apiserver')}`, { cause: last })
}

export function logTail(record: Pick<ClusterRecord, 'folder'>, component: string, lines = 15): string {
  try {
    return readFileSync(logPath(record, component), 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  } catch {
    return `(${logPath(record, component)} cannot be read)`
  }
}
