import { describe, expect, it } from 'vitest'
import type { ClusterRecord } from './cluster-record.ts'
import { bridgeAddress, componentArguments, controlPlaneComponents, logTail } from './control-plane.ts'
import { hostAddress } from './machine/names.ts'

const record: ClusterRecord = {
  name: 'a',
  folder: '/h/clusters/a',
  index: 7,
  ports: { apiServer: 20001, etcdPeer: 20003, controllerManager: 20004, scheduler: 20005, kwok: 20006 },
  nodeLeaseSeconds: 60,
  userKubeconfigs: [],
}
const all = controlPlaneComponents.flatMap((component) => componentArguments(record, component))

describe('the arguments of the control plane', () => {
  it('use each port of the record, and no other', () => {
    const used = new Set(
      all
        .join(' ')
        .match(/\b20\d{3}\b/g)
        ?.map(Number),
    )
    expect(used).toEqual(new Set(Object.values(record.ports)))
  })

  it('let nothing listen on an address that others can reach', () => {
    const addresses = all.join(' ').match(/\b\d+\.\d+\.\d+\.\d+\b/g) ?? []
    const ranges = ['10.96.0.0', '10.97.0.0', bridgeAddress(record)]
    expect(addresses.filter((address) => address !== '127.0.0.1' && !ranges.includes(address))).toEqual([])
    for (const component of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const)
      expect(componentArguments(record, component)).toContain('--bind-address=127.0.0.1')
  })

  it('keep all files of the cluster in its folder', () => {
    const paths = all.flatMap((argument) => /=(\/.*)$/.exec(argument)?.[1] ?? [])
    const outside = paths.filter((path) => !path.startsWith(`${record.folder}/`))
    expect(outside.map((path) => path.split('/').slice(-2).join('/'))).toEqual([
      'stages/kwok.yaml',
      'stages/node.yaml',
      'stages/pod.yaml',
    ])
  })

  it('agree on how long a silent node is still taken for alive', () => {
    expect(componentArguments(record, 'kube-controller-manager')).toContain('--node-monitor-grace-period=60s')
    expect(componentArguments(record, 'kwok')).toContain('--node-lease-duration-seconds=60')
  })

  it('announce the address at which real nodes look for the API server', () => {
    expect(bridgeAddress(record)).toBe(hostAddress(record.index))
  })
})

describe('the end of a log', () => {
  it('says so when there is none', () => {
    expect(logTail({ folder: '/nowhere' }, 'etcd')).toBe('(/nowhere/logs/etcd.log cannot be read)')
  })
})
