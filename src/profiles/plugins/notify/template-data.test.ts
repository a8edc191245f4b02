import { expect, test } from 'vitest'
import type { KubeClient } from '../../../kube/index.ts'
import { systemClock } from '../../../time/index.ts'
import type { NotifyContext } from '../../plugin.ts'
import { messageOf, templateWarnings, writeTexts } from './message-template.ts'
import type { WholeNode } from './template-data.ts'

const whole: WholeNode = {
  metadata: { name: 'n1', deletionTimestamp: '2026-03-01T12:00:00Z' },
  spec: {
    podCIDR: '10.1.0.0/24',
    podCIDRs: ['10.1.0.0/24', 'fd00::/64'],
    taints: [
      { key: 'k', effect: 'NoExecute', timeAdded: '2026-03-01T11:00:00Z' },
      { key: 'l', effect: 'NoSchedule' },
    ],
  },
  status: {
    phase: 'Running',
    capacity: { cpu: '4', memory: '16Gi', 'ephemeral-storage': '20Gi', 'nvidia.com/gpu': '2' },
    allocatable: { cpu: '3800m', pods: '110' },
    volumesInUse: ['kubernetes.io/csi/a'],
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        lastHeartbeatTime: '2026-03-01T11:59:00Z',
        lastTransitionTime: '2026-02-01T00:00:00Z',
        reason: 'KubeletReady',
        message: 'fine',
      },
      { type: 'DiskPressure', status: 'False' },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
    nodeInfo: {
      bootID: 'b',
      machineID: 'm',
      systemUUID: 's',
      kernelVersion: '6.12',
      osImage: 'Flatcar',
      operatingSystem: 'linux',
      architecture: 'amd64',
      kubeletVersion: 'v1.36.0',
      kubeProxyVersion: 'v1.30.0',
      containerRuntimeVersion: 'containerd://2.1',
      swap: { capacity: 8_192 },
    },
  },
}

/** What the caches keep of it. */
const kept: NotifyContext['node'] = {
  metadata: whole.metadata,
  spec: { taints: whole.spec?.taints ?? [] },
  status: {
    allocatable: whole.status?.allocatable ?? {},
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        lastTransitionTime: '2026-02-01T00:00:00Z',
        reason: 'KubeletReady',
        message: 'fine',
      },
      { type: 'DiskPressure', status: 'False' },
    ],
    ...(whole.status?.nodeInfo ? { nodeInfo: whole.status.nodeInfo } : {}),
  },
}

const context: NotifyContext = {
  profile: 'p',
  lastProfile: 'p',
  state: 'operational',
  isInMaintenance: false,
  isDetailed: false,
  lastTransitionMs: 0,
  node: kept,
}

async function written(message: string): Promise<{ readonly text: string; readonly reads: number }> {
  let reads = 0
  const get = async () => {
    reads++
    return whole
  }
  const doors = { client: { get } as unknown as KubeClient, clock: systemClock }
  const [text] = await writeTexts([messageOf('message', message)], context, doors, new AbortController().signal)
  return { text, reads }
}

test.for([
  ['{{.Node.Kind}} {{.Node.APIVersion}} {{.Node.TypeMeta.Kind}}', 'Node v1 Node'],
  ['{{if .Node.DeletionTimestamp}}{{.Node.DeletionTimestamp.Format "15:04"}}{{end}}', '12:00'],
  [
    '{{range .Node.Spec.Taints}}{{if .TimeAdded}}{{.TimeAdded.Format "15:04"}}{{else}} none{{end}}{{end}}',
    '11:00 none',
  ],
  [
    '{{.Node.Status.Allocatable.cpu}} {{.Node.Status.Allocatable.Cpu}} {{.Node.Status.Allocatable.Memory}}',
    '3800m 3800m 0',
  ],
] as const)('%s needs no more than what is kept', async ([template, text]) => {
  expect(templateWarnings({ message: template })).toEqual([])
  expect(await written(template)).toEqual({ text, reads: 0 })
})

test.for([
  ['{{.Node.Spec.PodCIDR}} {{index .Node.Spec.PodCIDRs 1}}', '10.1.0.0/24 fd00::/64'],
  ['{{.Node.Status.Capacity.Memory}} {{index .Node.Status.Capacity "nvidia.com/gpu"}}', '16Gi 2'],
  ['{{.Node.Status.Capacity.StorageEphemeral}} {{.Node.Status.Capacity.Pods}}', '20Gi 0'],
  [
    '{{range $name, $amount := .Node.Status.Capacity}}{{$name}}={{$amount}} {{end}}',
    'cpu=4 ephemeral-storage=20Gi memory=16Gi nvidia.com/gpu=2 ',
  ],
  ['{{.Node.Status.Phase}} {{.Node.Status.NodeInfo.KubeProxyVersion}}', 'Running v1.30.0'],
  ['{{.Node.Status.DaemonEndpoints.KubeletEndpoint.Port}} {{len .Node.Status.VolumesInUse}}', '10250 1'],
  ['{{$n := .Node}}{{$n.Status.Phase}}', 'Running'],
  [
    '{{range .Node.Status.Conditions}}{{.LastHeartbeatTime}}|{{end}}',
    '2026-03-01 11:59:00 +0000 UTC|0001-01-01 00:00:00 +0000 UTC|',
  ],
  [
    '{{.Node.Status.Conditions}}',
    '[{Ready True 2026-03-01 11:59:00 +0000 UTC 2026-02-01 00:00:00 +0000 UTC KubeletReady fine} {DiskPressure False 0001-01-01 00:00:00 +0000 UTC 0001-01-01 00:00:00 +0000 UTC  }]',
  ],
  [
    '{{index .Node.Status.Conditions 0}}',
    '&NodeCondition{Type:Ready,Status:True,LastHeartbeatTime:2026-03-01 11:59:00 +0000 UTC,LastTransitionTime:2026-02-01 00:00:00 +0000 UTC,Reason:KubeletReady,Message:fine,}',
  ],
  [
    '{{.Node.Status.NodeInfo}}',
    '&NodeSystemInfo{MachineID:m,SystemUUID:s,BootID:b,KernelVersion:6.12,OSImage:Flatcar,ContainerRuntimeVersion:containerd://2.1,KubeletVersion:v1.36.0,KubeProxyVersion:v1.30.0,OperatingSystem:linux,Architecture:amd64,Swap:&NodeSwapStatus{Capacity:*8192,},}',
  ],
  [
    '{{print .Node.Status.NodeInfo}}',
    '{m s b 6.12 Flatcar containerd://2.1 v1.36.0 v1.30.0 linux amd64 &NodeSwapStatus{Capacity:*8192,}}',
  ],
] as const)('%s reads the whole node, once', async ([template, text]) => {
  expect(templateWarnings({ message: template })).toEqual([])
  expect(await written(template)).toEqual({ text, reads: 1 })
})

test('swap that a node does not tell of is nil, as in Go', () => {
  const textOf = messageOf('message', '{{print .Node.Status.NodeInfo}}')
  expect(textOf(context, { metadata: {} })).toMatch(/ nil}$/)
})

test('what a node does not have even then is a fault that says so, and trying again does not help', async () => {
  await expect(written('{{.Node.Status.Phases}}')).rejects.toMatchObject({
    isWorthRetry: false,
    message: expect.stringContaining('there is no .Phases in v1.NodeStatus; it has Conditions,') as string,
  })
})
