import { expect } from 'vitest'
import { eventually } from './e2e-cluster.ts'
import { bringUpRealCluster, type RealCluster } from './real-cluster.ts'
import {
  hostProgram,
  patiently,
  permissionFile,
  type RealHost,
  type RealRequest,
  realHost,
  requestFile,
  setBudget,
  untilPhase,
} from './real-host.ts'

export const image = 'fettle.dev/fettle:e2e'

export interface RealAgents {
  readonly cluster: RealCluster
  readonly hosts: readonly [RealHost, RealHost, RealHost]
}

/** Three real nodes with an agent each, and one controller: as installed, but for how often a node may reboot. */
export async function bringUpAgents(): Promise<RealAgents> {
  const cluster = await bringUpRealCluster(`agent-${process.pid}`, 0, 3)
  const [one = '', two = '', three = ''] = cluster.nodes
  const hosts = [realHost(cluster, one), realHost(cluster, two), realHost(cluster, three)] as const
  // One controller: with two on the last node that takes pods, its drain waits for one after the other.
  const options = ['--replicas', '1', '--agent-arg=--max-reboots-per-day=1000']
  const installed = await cluster.fettle('install', '--image', image, ...options)
  expect(installed, installed.stderr).toMatchObject({ code: 0 })
  await setBudget(cluster)
  // The agents put it there.
  for (const host of hosts) await eventually(() => expect(host.has(hostProgram)).toBe(true), patiently)
  return { cluster, hosts }
}

/** Asks by the file, as a script of the old kind does; answers once it may work. */
export async function permitted({ cluster }: RealAgents, host: RealHost): Promise<RealRequest> {
  await host.sh(`touch ${requestFile}`)
  const request = await untilPhase(cluster, await host.asked(), 'Granted')
  await eventually(() => expect(host.has(permissionFile)).toBe(true), patiently)
  return request
}

/** What a person would look at when a test of real nodes fails: nothing of it is left a moment later. */
export async function tellTrouble({ cluster, hosts }: RealAgents): Promise<void> {
  const about = [
    ['get', 'nodes,mreq', '-o', 'wide'],
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'mreq,mbudget', '-o', 'yaml'],
    ['logs', '-n', 'fettle-system', '-l', 'app.kubernetes.io/component=controller', '--tail=40'],
    ['logs', '-n', 'fettle-system', '-l', 'app.kubernetes.io/component=agent', '--tail=40', '--prefix'],
  ]
  for (const args of about) console.log(`$ kubectl ${args.join(' ')}\n${await cluster.kubectl(...args)}`)
  for (const host of hosts) {
    const journal = await host.sh('journalctl -b -n 60 --no-pager').catch((error: unknown) => String(error))
    console.log(`the journal of ${host.name}:\n${journal}`)
  }
}

/** What a person says who wants a held request to go on. */
export async function retry({ cluster }: RealAgents, { metadata: { name } }: RealRequest): Promise<void> {
  const said = await cluster.fettle('node', 'retry', name, '--reason', 'e2e', '--no-wait')
  expect(said, said.stderr).toMatchObject({ code: 0 })
}
