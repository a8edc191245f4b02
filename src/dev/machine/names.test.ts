import { describe, expect, it } from 'vitest'
import {
  hostInterface,
  isNamespaceOf,
  machineAddress,
  machineCgroup,
  machineNamespace,
  podCidr,
  switchNamespace,
} from './names.ts'

describe('names and addresses of machines', () => {
  it('gives each machine of each cluster its own address and pod range', () => {
    const seen = new Set<string>()
    for (const clusterIndex of [0, 1, 250])
      for (let number = 1; number <= 16; number++) {
        seen.add(machineAddress(clusterIndex, number))
        seen.add(podCidr(clusterIndex, number))
      }
    expect(seen.size).toBe(3 * 16 * 2)
    expect(machineAddress(7, 2)).toBe('10.89.7.12')
    expect(podCidr(7, 2)).toBe('10.102.7.0/24')
  })

  it('keeps interface names within the 15 characters that the kernel allows', () => {
    expect(hostInterface(250).length).toBeLessThanOrEqual(15)
  })

  it.each([
    ['its switch', 'a', switchNamespace('a'), true],
    ['its machines', 'a', machineNamespace('a', 12), true],
    ['the switch of a cluster whose name begins the same', 'a', switchNamespace('a-1'), false],
    ['a machine of a cluster whose name begins the same', 'a', machineNamespace('a-1', 3), false],
    ['a machine of a cluster whose name is longer', 'a', machineNamespace('ab', 1), false],
    ['a namespace of someone else', 'a', 'cni-1234', false],
  ])('a cluster owns, or not: %s', (_what, cluster, namespace, owned) => {
    expect(isNamespaceOf(cluster, namespace)).toBe(owned)
  })

  it('puts all machines of a cluster under one cgroup', () => {
    expect(machineCgroup({ cluster: 'dev', name: 'real-1' })).toBe('fettle/dev/real-1')
  })
})
