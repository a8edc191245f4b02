import { clusterDnsAddress, type MachineRef, machineAddress, podCidr } from './names.ts'

/** What the programs on a machine are told, as the texts of their files. No I/O. */

export const pauseImage = 'fettle.dev/pause:dev'
/** Where image archives wait inside a machine; all are imported at each boot. */
export const imageFolder = '/var/lib/fettle/images'

export interface MachineFile {
  /** Path inside the machine. */
  readonly path: string
  readonly text: string
  readonly mode?: number
}

export interface Certificate {
  readonly certPem: string
  readonly keyPem: string
}

export interface MachineSettings {
  readonly machine: MachineRef
  /** As seen from the machine. */
  readonly apiServerUrl: string
  readonly caPem: string
  /** For client and server: system:node:NAME. */
  readonly kubelet: Certificate
  readonly kubeProxy: Certificate
  /** Labels that the Node is registered with. */
  readonly nodeLabels: Readonly<Record<string, string>>
  readonly cgroupVersion: 1 | 2
  /** `native` where the machine's files already lie on an overlay, which cannot carry another one. */
  readonly snapshotter: 'overlayfs' | 'native'
}

/** All files that make a bare root file system this node. */
export function machineFiles(settings: MachineSettings): MachineFile[] {
  const { machine, apiServerUrl, kubelet, kubeProxy } = settings
  const secret = 0o600
  const kubeconfig = (user: string) => kubeconfigText(apiServerUrl, user)
  return [
    { path: '/etc/hostname', text: `${machine.name}\n` },
    {
      path: '/etc/hosts',
      text: `127.0.0.1 localhost\n${machineAddress(machine.clusterIndex, machine.number)} ${machine.name}\n`,
    },
    // There is no name server to ask; an empty file makes that a quick answer instead of a slow one.
    { path: '/etc/resolv.conf', text: '' },
    { path: '/etc/kubernetes/ca.crt', text: settings.caPem },
    { path: '/etc/kubernetes/kubelet.crt', text: kubelet.certPem },
    { path: '/etc/kubernetes/kubelet.key', text: kubelet.keyPem, mode: secret },
    { path: '/etc/kubernetes/kubelet.kubeconfig', text: kubeconfig('kubelet') },
    { path: '/etc/kubernetes/kubelet.json', text: kubeletConfig(settings) },
    { path: '/etc/kubernetes/kubelet.environment', text: kubeletEnvironment(settings) },
    { path: '/etc/kubernetes/kube-proxy.crt', text: kubeProxy.certPem },
    { path: '/etc/kubernetes/kube-proxy.key', text: kubeProxy.keyPem, mode: secret },
    { path: '/etc/kubernetes/kube-proxy.kubeconfig', text: kubeconfig('kube-proxy') },
    { path: '/etc/kubernetes/kube-proxy.json', text: kubeProxyConfig(machine) },
    { path: '/etc/containerd/config.toml', text: containerdConfig(settings) },
    { path: '/etc/cni/net.d/10-fettle.conflist', text: cniConfig(machine) },
  ]
}

// JSON is YAML: every reader of these files takes it, and no library is needed to write it.
function document(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function kubeconfigText(server: string, user: string): string {
  return document({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority': '/etc/kubernetes/ca.crt' } }],
    users: [
      {
        name: user,
        user: { 'client-certificate': `/etc/kubernetes/${user}.crt`, 'client-key': `/etc/kubernetes/${user}.key` },
      },
    ],
    contexts: [{ name: 'default', context: { cluster: 'cluster', user } }],
    'current-context': 'default',
  })
}

export function kubeletConfig({ cgroupVersion }: Pick<MachineSettings, 'cgroupVersion'>): string {
  return document({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: '/etc/kubernetes/ca.crt' },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: '/etc/kubernetes/kubelet.crt',
    tlsPrivateKeyFile: '/etc/kubernetes/kubelet.key',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    clusterDomain: 'cluster.local',
    clusterDNS: [clusterDnsAddress],
    // On version 2 the machine's systemd owns the tree and takes back what it did not hand out itself.
    cgroupDriver: cgroupVersion === 2 ? 'systemd' : 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    // The right to lower OOM scores is often missing inside virtual machines and containers.
    oomScoreAdj: 0,
    // Disk and memory are the host's: how full they are says nothing about this node.
    evictionHard: {
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
      'imagefs.inodesFree': '0%',
    },
    // Images come by import, from no registry: one that was collected would be gone for good.
    imageGCHighThresholdPercent: 100,
  })
}

function kubeletEnvironment({ machine, nodeLabels }: MachineSettings): string {
  const labels = Object.entries(nodeLabels).map(([key, value]) => `${key}=${value}`)
  return [
    `NODE_NAME=${machine.name}`,
    `NODE_ADDRESS=${machineAddress(machine.clusterIndex, machine.number)}`,
    `NODE_LABELS=${labels.join(',')}`,
    '',
  ].join('\n')
}

export function kubeProxyConfig(machine: MachineRef): string {
  return document({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: machine.name,
    clientConnection: { kubeconfig: '/etc/kubernetes/kube-proxy.kubeconfig' },
    detectLocalMode: 'ClusterCIDR',
    clusterCIDR: podCidr(machine.clusterIndex, machine.number),
    // The connection table's size belongs to the whole kernel, and is read-only in here.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    // For the same reason as the kubelet's.
    oomScoreAdj: 0,
  })
}

export function containerdConfig({
  cgroupVersion,
  snapshotter,
}: Pick<MachineSettings, 'cgroupVersion' | 'snapshotter'>): string {
  return `version = 3

[plugins."io.containerd.cri.v1.images"]
snapshotter = "${snapshotter}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${pauseImage}"

[plugins."io.containerd.cri.v1.runtime"]
# Sandboxes fail to start where OOM scores cannot be lowered ("can't get final child's PID from pipe").
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = ${cgroupVersion === 2}
`
}

export function cniConfig(machine: MachineRef): string {
  return document({
    cniVersion: '1.0.0',
    name: 'fettle',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podCidr(machine.clusterIndex, machine.number) }]],
          routes: [{ dst: '0.0.0.0/0' }],
          // Forgotten at a reboot, like the pods that held the addresses.
          dataDir: '/run/fettle/pod-addresses',
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  })
}
