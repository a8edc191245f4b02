import { type KubeClient, resources } from '../src/kube/index.ts'

const namespaces = 20
const pad =
  'a sentence that stands for what real annotations hold: checksums, last-applied configurations, mesh settings. '

/** Creates nodes and pods, already bound to them, until there are as many as asked; about 6 KiB a pod. */
export async function createObjects(
  client: KubeClient,
  wanted: { readonly nodes: number; readonly pods: number },
  log: (line: string) => void,
): Promise<void> {
  const startedAt = Date.now()
  for (let index = 0; index < namespaces; index++) await createNamespace(client, `load-${index}`)
  const existing = { nodes: await countOf(client, resources.nodes), pods: await countOf(client, resources.pods) }
  await inParallel(existing.nodes, wanted.nodes, (index) => client.create(resources.nodes, nodeObject(index)))
  await inParallel(existing.pods, wanted.pods, (index) => client.create(resources.pods, podObject(index, wanted.nodes)))
  log(`${wanted.nodes} nodes and ${wanted.pods} pods exist after ${Math.round((Date.now() - startedAt) / 1000)} s`)
}

async function createNamespace(client: KubeClient, name: string): Promise<void> {
  const account = { metadata: { name: 'default', namespace: name } }
  try {
    await client.create(resources.namespaces, { metadata: { name } })
    // No controller manager runs here to make it, and no pod is admitted without it.
    await client.create(resources.serviceAccounts, account)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'AlreadyExists')) throw error
  }
}

async function countOf(client: KubeClient, resource: typeof resources.pods): Promise<number> {
  for await (const page of client.list(resource, { pageSize: 1 })) return page.items.length + (page.remaining ?? 0)
  return 0
}

/** Changes one annotation, `count` times, going round the pods: one watch event each. */
export async function touchPods(client: KubeClient, count: number, pods: number): Promise<void> {
  const start = Date.now()
  await inParallel(0, count, (index) =>
    client.patch(resources.pods, podRef(index % pods), {
      type: 'merge',
      body: { metadata: { annotations: { 'bench.fettle.dev/touched': `${start}-${index}` } } },
    }),
  )
}

async function inParallel(from: number, to: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = from
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < to) await work(next++)
    }),
  )
}

function podRef(index: number) {
  return { name: `pod-${index}`, namespace: `load-${index % namespaces}` }
}

function nodeObject(index: number) {
  const name = `node-${index}`
  const size = { cpu: '64', memory: '256Gi', pods: '250', 'ephemeral-storage': '500Gi' }
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': `zone-${index % 3}`,
        'node.kubernetes.io/instance-type': 'large',
      },
      annotations: { note: pad.repeat(4) },
    },
    spec: { podCIDR: `10.${index % 200}.${index % 250}.0/24`, providerID: `dev:///${name}` },
    status: {
      capacity: size,
      allocatable: size,
      nodeInfo: nodeInfo(index),
      conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: 'Kubelet',
        message: 'kubelet has said so',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
      // The longest part of a real Node: what images it has pulled.
      images: Array.from({ length: 40 }, (_, image) => ({
        names: [
          `registry.example/team-${image}/service@sha256:${String(image).repeat(32).slice(0, 64)}`,
          `registry.example/team-${image}/service:v1`,
        ],
        sizeBytes: 100_000_000 + image,
      })),
    },
  }
}

function nodeInfo(index: number) {
  const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
  return {
    architecture: 'amd64',
    bootID: id,
    machineID: id,
    systemUUID: id,
    containerRuntimeVersion: 'containerd://2.2.1',
    kernelVersion: '6.12.0',
    kubeProxyVersion: 'v1.36.3',
    kubeletVersion: 'v1.36.3',
    operatingSystem: 'linux',
    osImage: 'Debian',
  }
}

function podObject(index: number, nodes: number) {
  const app = `app-${index % 500}`
  return {
    metadata: {
      ...podRef(index),
      labels: { app, 'pod-template-hash': `hash${index % 500}`, team: `team-${index % 20}` },
      annotations: { 'checksum/config': String(index).repeat(12).slice(0, 64), note: pad.repeat(5) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-1`,
          uid: `00000000-0000-4000-9000-${String(index % 500).padStart(12, '0')}`,
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: `node-${index % nodes}`,
      terminationGracePeriodSeconds: 30,
      containers: ['web', 'proxy'].map((name) => ({
        name,
        image: `registry.example/${app}/${name}:v1`,
        env: Array.from({ length: 10 }, (_, variable) => ({
          name: `SETTING_${variable}`,
          value: `value-${variable}-of-${app}`,
        })),
        ports: [{ containerPort: 8080, name: `${name}-http` }],
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 5 },
        volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
      })),
      volumes: [{ name: 'config', configMap: { name: `${app}-config` } }],
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
    },
  }
}
