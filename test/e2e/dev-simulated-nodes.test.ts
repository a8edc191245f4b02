import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { connectTo, isReady, setNotReady } from '../../src/dev/index.ts'
import { type KubeClient, type Lease, type NodeObject, resources } from '../../src/kube/index.ts'
import { eventually, sharedRecord } from '../support/e2e-cluster.ts'
import { type FettleResult, fettle } from '../support/fettle-process.ts'

const dev = (...args: string[]) => fettle(['dev', 'node', ...args, '--name', inject('sharedCluster')])
let client: KubeClient
let added: FettleResult
let firstHeartbeat: string | undefined

beforeAll(async () => {
  client = await connectTo(sharedRecord())
  added = await dev('add', '2')
  firstHeartbeat = await heartbeat('node-6')
})
afterAll(async () => {
  for (const name of ['node-6', 'node-7']) await dev('remove', name)
  client.close()
})

const nodeOf = (name: string) => client.get<NodeObject>(resources.nodes, { name })

async function heartbeat(node: string): Promise<string | undefined> {
  const lease = await eventually(
    () => client.get<Lease>(resources.leases, { namespace: 'kube-node-lease', name: node }),
    { withinMs: 20_000 },
  )
  return lease.spec?.renewTime
}

/** Each state of the node that differs from the one before it, while `work` runs and until `last` is reached. */
async function statesDuring(name: string, work: () => Promise<void>, last: (node: NodeObject) => boolean) {
  const states: string[] = []
  const stop = new AbortController()
  const first = await nodeOf(name)
  const following = (async () => {
    const fieldSelector = `metadata.name=${name}`
    const { resourceVersion } = first.metadata
    const options = { signal: stop.signal, fieldSelector, ...(resourceVersion ? { resourceVersion } : {}) }
    for await (const event of client.watch<NodeObject>(resources.nodes, options)) {
      if (event.type === 'BOOKMARK') continue
      const state = `${isReady(event.object) ? 'up' : 'down'} ${event.object.status?.nodeInfo?.bootID}`
      if (state !== states.at(-1)) states.push(state)
      if (last(event.object)) return
    }
  })()
  const deadline = setTimeout(() => stop.abort(new Error(`${name} saw only: ${states.join(', ')}`)), 40_000)
  await work()
  await following
  clearTimeout(deadline)
  return states
}

describe('simulated nodes', () => {
  test('come ready under the next free names, in the zone whose turn it is', async () => {
    expect(added.stderr).toContain('7 nodes are ready')
    expect(added.code).toBe(0)
    const zones = await Promise.all(
      ['node-5', 'node-6', 'node-7'].map(
        async (name) => (await nodeOf(name)).metadata.labels?.['topology.kubernetes.io/zone'],
      ),
    )
    expect(zones).toEqual(['zone-b', 'zone-c', 'zone-a'])
  })

  test('look like nodes: addresses, capacity, versions, a boot id of their own', async () => {
    const [one, two] = [await nodeOf('node-6'), await nodeOf('node-7')]
    expect(one.status?.addresses?.map(({ type }) => type)).toEqual(['InternalIP', 'Hostname'])
    expect(one.status?.allocatable).toMatchObject({ cpu: '32', pods: '250' })
    expect(one.status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.36\./)
    expect(one.status?.nodeInfo?.bootID).not.toBe(two.status?.nodeInfo?.bootID)
  })

  test('go NotReady with a reason when told to, and come back', async () => {
    await setNotReady(client, 'node-6', 'the disk is full')
    const down = await eventually(
      async () => {
        const node = await nodeOf('node-6')
        expect(isReady(node)).toBe(false)
        return node
      },
      { withinMs: 20_000 },
    )
    expect(down.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'the disk is full',
    })
    await setNotReady(client, 'node-6', undefined)
    await eventually(async () => expect(isReady(await nodeOf('node-6'))).toBe(true), { withinMs: 20_000 })
  })

  test('reboot: down once, then up once with another boot id, and nothing in between', async () => {
    const old = (await nodeOf('node-6')).status?.nodeInfo?.bootID
    const states = await statesDuring(
      'node-6',
      async () => {
        const reboot = await dev('reboot', 'node-6')
        expect(reboot.stderr).toContain('node node-6 reboots')
        expect(reboot.code).toBe(0)
      },
      (node) => isReady(node) && node.status?.nodeInfo?.bootID !== old,
    )
    const current = (await nodeOf('node-6')).status?.nodeInfo?.bootID
    expect(current).not.toBe(old)
    // The annotation that asks for the reboot is itself an event, of a node that is still up.
    expect(states).toEqual([`up ${old}`, `down ${old}`, `up ${current}`])
  })

  test('reboot a second time to a third boot id', async () => {
    const old = (await nodeOf('node-6')).status?.nodeInfo?.bootID
    await dev('reboot', 'node-6')
    await eventually(
      async () => {
        const node = await nodeOf('node-6')
        expect([isReady(node), node.status?.nodeInfo?.bootID === old]).toEqual([true, false])
      },
      { withinMs: 30_000 },
    )
  })

  test('keep their lease renewed', async () => {
    await eventually(async () => expect(await heartbeat('node-6')).not.toBe(firstHeartbeat), { withinMs: 30_000 })
  })

  test('are removed by name, and a name that no node has is refused with the ones that exist', async () => {
    const removed = await dev('remove', 'node-7')
    expect(removed).toMatchObject({ code: 0 })
    expect(removed.stderr).toContain('node node-7 is gone')
    for (const command of ['remove', 'reboot']) {
      const refused = await dev(command, 'node-7')
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/^\nfettle: cluster \S+ has no node node-7; it has node-1, node-2, .*node-6\n$/)
    }
  })
})
