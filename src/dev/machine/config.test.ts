import { describe, expect, it } from 'vitest'
import {
  cniConfig,
  containerdConfig,
  kubeletConfig,
  kubeProxyConfig,
  type MachineSettings,
  machineFiles,
  pauseImage,
} from './config.ts'

const machine = { cluster: 'dev', clusterIndex: 3, number: 2, name: 'real-2' }
const settings: MachineSettings = {
  machine,
  apiServerUrl: 'https://10.89.3.1:6443',
  caPem: 'CA',
  kubelet: { certPem: 'KUBELET CERT', keyPem: 'KUBELET KEY' },
  kubeProxy: { certPem: 'PROXY CERT', keyPem: 'PROXY KEY' },
  nodeLabels: { 'fettle.dev/real': 'true', pool: 'a' },
  cgroupVersion: 1,
  snapshotter: 'overlayfs',
}

function textOf(path: string, from: MachineSettings = settings): string {
  const file = machineFiles(from).find((candidate) => candidate.path === path)
  expect(file, path).toBeDefined()
  return file?.text ?? ''
}

describe('what a machine is told', () => {
  it('writes each file once, and keys for root only', () => {
    const files = machineFiles(settings)
    expect(new Set(files.map(({ path }) => path)).size).toBe(files.length)
    for (const { path, text, mode } of files) if (text.includes('KEY')) expect(mode, path).toBe(0o600)
  })

  it('points kubelet and kube-proxy at the API server, each as itself', () => {
    for (const user of ['kubelet', 'kube-proxy']) {
      const kubeconfig = JSON.parse(textOf(`/etc/kubernetes/${user}.kubeconfig`))
      expect(kubeconfig.clusters[0].cluster.server).toBe('https://10.89.3.1:6443')
      expect(kubeconfig.users[0].user['client-certificate']).toBe(`/etc/kubernetes/${user}.crt`)
    }
  })

  it('registers the node under its own address with its labels', () => {
    expect(textOf('/etc/kubernetes/kubelet.environment')).toBe(
      'NODE_NAME=real-2\nNODE_ADDRESS=10.89.3.12\nNODE_LABELS=fettle.dev/real=true,pool=a\n',
    )
  })

  it('lets nobody talk to the kubelet without the API server knowing them', () => {
    const config = JSON.parse(kubeletConfig(settings))
    expect(config.authentication.anonymous.enabled).toBe(false)
    expect(config.authorization.mode).toBe('Webhook')
  })

  it.each([
    [1, 'cgroupfs', 'SystemdCgroup = false'],
    [2, 'systemd', 'SystemdCgroup = true'],
  ] as const)('on cgroup version %s kubelet and containerd agree on the driver', (cgroupVersion, driver, line) => {
    expect(JSON.parse(kubeletConfig({ cgroupVersion })).cgroupDriver).toBe(driver)
    expect(containerdConfig({ cgroupVersion, snapshotter: 'overlayfs' })).toContain(line)
  })

  it('names the snapshotter and the sandbox image for containerd', () => {
    const config = containerdConfig({ cgroupVersion: 1, snapshotter: 'native' })
    expect(config).toContain('snapshotter = "native"')
    expect(config).toContain(`sandbox = "${pauseImage}"`)
  })

  it('gives pods addresses of the machine’s own range, and kube-proxy the same range as local', () => {
    expect(JSON.parse(cniConfig(machine)).plugins[0].ipam.ranges).toEqual([[{ subnet: '10.102.3.0/24' }]])
    expect(JSON.parse(kubeProxyConfig(machine)).clusterCIDR).toBe('10.102.3.0/24')
  })
})
