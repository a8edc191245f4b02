import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type ClusterRecord,
  connectTo,
  healMachine,
  isReady,
  missingForRealNodes,
  partitionMachine,
  places,
  readRecord,
  realNode,
  runInMachine,
} from '../../src/dev/index.ts'
import { isNotFound, type KubeClient, type NodeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { fettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'

const missing = await missingForRealNodes()
const home = temporaryHome()
const name = 'metal'
const before = leftoversOf(home.path)
const dev = (...args: string[]) => fettle(['dev', ...args, '--name', name], { home: home.path })
let record: ClusterRecord
let client: KubeClient
let bootIdBeforePartition: string | undefined

const nodeOf = (node: string) => client.get<NodeObject>(resources.nodes, { name: node })
const bootIdOf = async (node: string) => (await nodeOf(node)).status?.nodeInfo?.bootID
const untilNode = (node: string, ready: boolean, withinMs: number) =>
  eventually(async () => expect(isReady(await nodeOf(node))).toBe(ready), { withinMs, everyMs: 200 })

function probe(node: string) {
  return {
    metadata: { name: `probe-${node}`, namespace: 'default' },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'probe', image: 'fettle.dev/pause:dev', args: ['probe'], imagePullPolicy: 'Never' }],
    },
  }
}

const logOf = async (pod: string) => {
  const { stdout, stderr } = await fettle(['dev', 'kubectl', '--name', name, '--', 'logs', pod], { home: home.path })
  return stdout + stderr
}

describe.skipIf(missing.length > 0)(
  `real nodes (needs root and systemd-nspawn${missing.length > 0 ? `: ${missing[0]}` : ''})`,
  () => {
    beforeAll(async () => {
      vi.stubEnv('FETTLE_HOME', home.path)
      const up = await dev('up', '--nodes', '2', '--real-nodes', '2')
      expect(up.stderr).toContain('4 nodes are ready')
      expect(up.code).toBe(0)
      console.log(`dev up with 2 real and 2 simulated nodes: ${up.seconds.toFixed(1)} s`)
      const found = readRecord(name, places())
      if (!found) throw new Error('no record')
      record = found
      client = await connectTo(record)
    })
    afterAll(async () => {
      client?.close()
      await dev('down')
      vi.unstubAllEnvs()
      await home.remove()
    })

    test('are Ready beside simulated ones, and told apart by label and taint', async () => {
      for (const node of ['real-1', 'real-2']) {
        const { metadata, spec, status } = await nodeOf(node)
        expect(metadata.labels).toMatchObject({ 'fettle.dev/real': 'true', 'kubernetes.io/hostname': node })
        expect(metadata.labels).not.toHaveProperty('fettle.dev/simulated')
        expect(spec?.taints ?? []).toEqual([])
        expect(status?.nodeInfo).toMatchObject({
          kubeletVersion: 'v1.36.3',
          osImage: expect.stringContaining('Debian'),
        })
      }
      for (const node of ['node-1', 'node-2'])
        expect((await nodeOf(node)).spec?.taints).toContainEqual({
          key: 'fettle.dev/simulated',
          value: 'true',
          effect: 'NoSchedule',
        })
      expect((await dev('status')).stdout).toContain('4 of 4 ready (2 simulated, 2 real)')
    })

    test('run pods that reach the API server through its service address', async () => {
      for (const node of ['real-1', 'real-2']) await client.create(resources.pods, probe(node))
      for (const node of ['real-1', 'real-2'])
        await eventually(async () => expect(await logOf(`probe-${node}`)).toContain('probe ok'), {
          withinMs: 60_000,
          everyMs: 500,
        })
    })

    test('have a log, and take commands', async () => {
      const log = await dev('logs', 'real-1', '--tail', '3')
      expect(log.code).toBe(0)
      expect(log.stdout.trim()).not.toBe('')
      const said = await runInMachine(realNode(record, 'real-1'), ['sh', '-c', 'hostname; cat /proc/1/comm; exit 3'])
      expect(said).toMatchObject({ code: 3, stdout: 'real-1\nsystemd\n' })
    })

    test('lose every packet in a partition, and no other node does', async () => {
      const address = `10.89.${record.index}.1/${record.ports.apiServer}`
      const reach = async (node: string) =>
        (await runInMachine(realNode(record, node), ['timeout', '2', 'bash', '-c', `: </dev/tcp/${address}`])).code ===
        0
      bootIdBeforePartition = await bootIdOf('real-2')
      expect([await reach('real-1'), await reach('real-2')]).toEqual([true, true])
      await partitionMachine(realNode(record, 'real-2'))
      expect([await reach('real-1'), await reach('real-2')]).toEqual([true, false])
    })

    test('reboot for real: the kubelet reports the new boot id, and the pods are back', async () => {
      const [machine, old] = [realNode(record, 'real-1'), await bootIdOf('real-1')]
      const readBootId = async () =>
        (await runInMachine(machine, ['cat', '/proc/sys/kernel/random/boot_id'])).stdout.trim()
      expect(await readBootId()).toBe(old)
      expect((await dev('node', 'reboot', 'real-1')).code).toBe(0)
      await eventually(
        async () =>
          expect([isReady(await nodeOf('real-1')), (await bootIdOf('real-1')) === old]).toEqual([true, false]),
        {
          withinMs: 60_000,
          everyMs: 200,
        },
      )
      expect(await readBootId()).toBe(await bootIdOf('real-1'))
      await eventually(
        async () => {
          const pod = await client.get<PodObject & Restarts>(resources.pods, {
            namespace: 'default',
            name: 'probe-real-1',
          })
          expect(pod.status?.phase).toBe('Running')
          expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(1)
        },
        { withinMs: 60_000, everyMs: 500 },
      )
      await eventually(async () => expect(await logOf('probe-real-1')).toContain('probe ok'), {
        withinMs: 30_000,
        everyMs: 500,
      })
    })

    test('cut off for long enough, one is NotReady but has not stopped; healed, it comes back as it was', async () => {
      const machine = realNode(record, 'real-2')
      await untilNode('real-2', false, 90_000)
      expect((await runInMachine(machine, ['systemctl', 'is-active', 'kubelet'])).stdout).toBe('active\n')
      expect(isReady(await nodeOf('real-1'))).toBe(true)
      await healMachine(machine)
      await untilNode('real-2', true, 60_000)
      expect(await bootIdOf('real-2')).toBe(bootIdBeforePartition)
    })

    test('stop with the cluster and boot again with it', async () => {
      const old = await bootIdOf('real-1')
      expect((await dev('stop')).code).toBe(0)
      const stopped = newSince(before, leftoversOf(home.path), name)
      expect({ ...stopped, files: [] }).toEqual(nothing)
      const start = await dev('start')
      console.log(`dev start with 2 real nodes: ${start.seconds.toFixed(1)} s`)
      expect(start.stderr).toContain('real nodes are ready: real-1, real-2')
      await eventually(async () => expect(await bootIdOf('real-1')).not.toBe(old), { withinMs: 20_000, everyMs: 200 })
      await untilNode('real-1', true, 30_000)
    })

    test('are removed one by one, machine and all', async () => {
      expect((await dev('node', 'remove', 'real-2')).code).toBe(0)
      await expect(nodeOf('real-2')).rejects.toSatisfy(isNotFound)
      const left = newSince(before, leftoversOf(home.path), name)
      expect(left.files.filter((path) => path.includes('real-2'))).toEqual([])
      expect(left.cgroups.length).toBeGreaterThan(0)
      expect(left.namespaces.filter((namespace) => namespace.endsWith('-2'))).toEqual([])
      expect((await dev('node', 'reboot', 'real-2')).stderr).toContain(`cluster ${name} has no node real-2`)
    })

    test('go with down even when their keeper was killed and the record is lost; nothing is left', async () => {
      const script = join(home.path, 'clusters', name, 'machines', 'real-1', 'keeper.sh')
      const keeper = leftoversOf(home.path).processes.find((line) => line.endsWith(`sh ${script}`))
      expect(keeper).toBeDefined()
      process.kill(Number(keeper?.split(' ')[0]), 'SIGKILL')
      rmSync(join(record.folder, 'cluster.json'))
      const down = await dev('down')
      expect(down.stderr).toContain(`cluster ${name} is gone`)
      expect(newSince(before, leftoversOf(home.path), name)).toEqual(nothing)
    })
  },
)

interface Restarts {
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly { readonly restartCount: number }[]
  }
}
