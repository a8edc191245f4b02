import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  type Slot,
} from '../../src/api/index.ts'
import { missingForRealNodes } from '../../src/dev/index.ts'
import type { RunResult } from '../../src/host/index.ts'
import {
  type KubeObject,
  type Lease,
  type NodeObject,
  type PodObject,
  type Resource,
  resources,
} from '../../src/kube/index.ts'
import { isOpen } from '../../src/queue/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { chart, helmProgram } from '../support/helm.ts'
import { objectCount } from '../support/install-set.ts'
import { patient } from '../support/queue-cluster.ts'
import { bringUpRealCluster, podsOf, type RealCluster, realNodes } from '../support/real-cluster.ts'

const missing = await missingForRealNodes()
const namespace = 'fettle-system'
const image = 'fettle.dev/fettle:e2e'
const everyPodReady = ['agent', 'controller'].flatMap((component) =>
  realNodes.map((node) => `${component} on ${node} from ${image}: ready, 0 restarts`),
)

let cluster: RealCluster
let helm: (...args: string[]) => Promise<RunResult>

const release = (verb: string, ...more: string[]) =>
  helm(verb, 'fettle', ...more, '--namespace', namespace, '--kubeconfig', cluster.kubeconfig, '--wait')

const realOnly = ['controller', 'agent'].flatMap((part) => [
  '--set-string',
  `${part}.nodeSelector.fettle\\.dev/real=true`,
])

async function namesOf(resource: Resource): Promise<string[]> {
  const names: string[] = []
  for await (const page of cluster.admin.list<KubeObject>(resource, resource.namespaced ? { namespace } : {}))
    names.push(...page.items.map(({ metadata }) => `${resource.kind} ${metadata.name}`))
  return names
}

/** Everything in the cluster that an installation could have left behind. */
async function leftBehind(): Promise<string[]> {
  const { customResourceDefinitions, clusterRoles, clusterRoleBindings, namespaces } = resources
  const { serviceAccounts, roles, roleBindings, deployments, daemonSets, jobs, pods, leases } = resources
  const wide = (
    await Promise.all([customResourceDefinitions, clusterRoles, clusterRoleBindings, namespaces].map(namesOf))
  )
    .flat()
    .filter((name) => name.includes('fettle') && name !== `Namespace ${namespace}`)
  const inside = await Promise.all(
    [serviceAccounts, roles, roleBindings, deployments, daemonSets, jobs, pods, leases].map(namesOf),
  )
  return [...wide, ...inside.flat().filter((name) => name !== 'ServiceAccount default')]
}

/** What the nodes were before anybody took one: schedulable, and without a mark of ours. */
async function nodeMarks(): Promise<string[]> {
  const marks: string[] = []
  for await (const page of cluster.admin.list<NodeObject>(resources.nodes))
    for (const { metadata, spec } of page.items) {
      if (spec?.unschedulable) marks.push(`${metadata.name} is unschedulable`)
      for (const key of Object.keys(metadata.annotations ?? {}))
        if (/(^|\.)fettle\.dev\//.test(key) && !key.startsWith('simulate.')) marks.push(`${metadata.name} has ${key}`)
    }
  return marks
}

async function slots(): Promise<readonly Slot[]> {
  return (await cluster.admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })).status?.slots ?? []
}

async function requestFor(node: string): Promise<MaintenanceRequest | undefined> {
  for await (const page of cluster.admin.list<MaintenanceRequest>(maintenanceRequests))
    for (const request of page.items) if (request.spec.nodeName === node && isOpen(request)) return request
  return undefined
}

/** Identities are the pod's name with a random end. */
async function leaderPod(): Promise<string> {
  const { spec } = await cluster.admin.get<Lease>(resources.leases, { name: 'fettle-controller', namespace })
  const holder = spec?.holderIdentity ?? ''
  for (const name of await namesOf(resources.pods))
    if (holder.startsWith(name.replace('Pod ', ''))) return name.replace('Pod ', '')
  throw new Error(`no pod has the name of the leader ${holder}`)
}

async function runningOn(node: string): Promise<number> {
  let running = 0
  for await (const page of cluster.admin.list<PodObject>(resources.pods, { fieldSelector: `spec.nodeName=${node}` }))
    running += page.items.filter(
      ({ metadata, status }) => metadata.namespace === 'default' && status?.phase === 'Running',
    ).length
  return running
}

/** Four pods that only fit one node and take 2 to 10 s to stop: time enough to lose a leader. */
function slowlyStopping(node: string) {
  const labels = { app: 'slow' }
  return {
    metadata: { name: 'slow', namespace: 'default' },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'simulate.fettle.dev/stop': 'slow' } },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': node },
          tolerations: [{ key: 'fettle.dev/simulated', operator: 'Exists' }],
          containers: [{ name: 'slow', image: 'registry.example/slow:1' }],
        },
      },
    },
  }
}

/** Three real pods on a real node. */
function quicklyStopping(node: string) {
  const labels = { app: 'quick' }
  const containers = [{ name: 'quick', image: 'fettle.dev/pause:dev', imagePullPolicy: 'Never' }]
  return {
    metadata: { name: 'quick', namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': node },
          terminationGracePeriodSeconds: 1,
          containers,
        },
      },
    },
  }
}

/** The names of pods in the order in which they were told to stop: three of the workload, and this one. */
function followEnds(ownPod: string): { stop(): Promise<readonly string[]> } {
  const told: string[] = []
  const end = new AbortController()
  const follow = async () => {
    try {
      for await (const event of cluster.admin.watch<PodObject>(resources.pods, { signal: end.signal })) {
        if (event.type === 'BOOKMARK') continue
        const { name = '', labels, deletionTimestamp } = event.object.metadata
        const isMeant = name === ownPod || labels?.['app'] === 'quick'
        if (isMeant && deletionTimestamp && !told.includes(name)) told.push(name)
      }
    } catch (error) {
      if (!end.signal.aborted) throw error
    }
  }
  const following = follow()
  return {
    async stop() {
      end.abort(new Error('seen enough'))
      await following
      return told
    },
  }
}

const logs = (component: string) =>
  cluster.kubectl(
    'logs',
    '--namespace',
    namespace,
    '--selector',
    `app.kubernetes.io/component=${component}`,
    '--tail=-1',
  )

describe.skipIf(missing.length > 0)(
  `an installation on real nodes (needs root and systemd-nspawn${missing.length > 0 ? `: ${missing[0]}` : ''})`,
  () => {
    beforeAll(async () => {
      helm = await helmProgram()
      cluster = await bringUpRealCluster('chart', 10)
      console.log(`image: ${(cluster.image.bytes / 1e6).toFixed(1)} MB, ${cluster.image.digest}`)
    }, 1_800_000)

    afterAll(async () => {
      await cluster?.remove()
    })

    test('by Helm runs controllers apart from each other and an agent on each real node, all from our image', async () => {
      const startedAt = Date.now()
      const installed = await release(
        'install',
        chart,
        ...['--create-namespace', '--set', 'image.tag=e2e', '--set', 'image.pullPolicy=Never', '--timeout', '120s'],
        ...realOnly,
      )
      expect(installed, installed.stderr + (await cluster.kubectl('get', 'pods,events', '-A'))).toMatchObject({
        code: 0,
      })
      console.log(`helm install --wait: ${((Date.now() - startedAt) / 1000).toFixed(1)} s`)
      // Helm calls a DaemonSet ready while its last pod may still be on its way.
      await eventually(async () => expect(await podsOf(cluster.admin)).toEqual(everyPodReady), {
        withinMs: 30_000,
        everyMs: 200,
      })
      expect(installed.stdout).toContain('2 controllers, one of which leads, and an agent on each node')
      await eventually(async () => expect(await logs('controller')).toContain('leadership acquired'), {
        withinMs: 40_000,
        everyMs: 500,
      })
      for (const node of realNodes) expect(await logs('agent')).toContain(`"node":"${node}"`)
    })

    test('finishes a drain whose leader was killed in the middle: the other one takes over, with the same slot', async () => {
      await cluster.admin.create(resources.deployments, slowlyStopping('node-2'))
      await eventually(async () => expect(await runningOn('node-2')).toBe(4), { withinMs: 40_000, everyMs: 500 })
      const asked = await cluster.fettle('node', 'maintain', 'node-2', '--reason', 'fail-over', '--no-wait')
      expect(asked, asked.stderr).toMatchObject({ code: 0 })
      await eventually(async () => expect((await requestFor('node-2'))?.status?.drain?.left).toBeGreaterThan(0), {
        withinMs: 40_000,
        everyMs: 100,
      })
      const [slot] = await slots()
      const leader = await leaderPod()
      await cluster.kubectl('delete', 'pod', leader, '--namespace', namespace, '--grace-period=0', '--force')
      await eventually(async () => expect((await requestFor('node-2'))?.status?.phase).toBe('Granted'), {
        withinMs: 90_000,
        everyMs: 500,
      })
      expect(await slots()).toEqual([slot])
      expect(await leaderPod()).not.toBe(leader)
      expect(await runningOn('node-2')).toBe(0)
      const returned = await cluster.fettle('node', 'return', 'node-2')
      expect(returned, returned.stderr).toMatchObject({ code: 0 })
      expect(await nodeMarks()).toEqual([])
      await cluster.kubectl('delete', 'deployment', 'slow', '--namespace', 'default')
      await eventually(async () => expect(await podsOf(cluster.admin)).toEqual(everyPodReady), {
        withinMs: 60_000,
        everyMs: 500,
      })
    })

    test('has the rights to take a node out: nothing is forbidden', async () => {
      const asked = await cluster.fettle('node', 'maintain', 'node-1', '--reason', 'e2e')
      expect(asked, asked.stderr).toMatchObject({ code: 0 })
      expect((await cluster.admin.get<NodeObject>(resources.nodes, { name: 'node-1' })).spec?.unschedulable).toBe(true)
      expect(await logs('controller')).not.toMatch(/Forbidden|forbidden/)
      expect(await logs('agent')).not.toMatch(/Forbidden|forbidden/)
    })

    test('is upgraded while a node is out, which stays out and keeps its slot', async () => {
      const held = await slots()
      expect(held).toHaveLength(1)
      const changed = ['--reuse-values', '--set', 'controller.leaseSeconds=5']
      const upgraded = await release('upgrade', chart, ...changed, '--timeout', '120s')
      expect(upgraded, upgraded.stderr).toMatchObject({ code: 0 })
      expect(await nodeMarks()).toContain('node-1 is unschedulable')
      expect(await slots()).toEqual(held)
      await eventually(async () => expect(await podsOf(cluster.admin)).toEqual(everyPodReady), {
        withinMs: 40_000,
        everyMs: 500,
      })
    })

    test('by Helm is not touched by `fettle install` and `fettle uninstall`', async () => {
      for (const verb of ['install', 'uninstall']) {
        const refused = await cluster.fettle(verb)
        expect(refused).toMatchObject({ code: 1 })
        expect(refused.stderr).toContain('installed here by Helm, as release fettle in namespace fettle-system')
      }
    })

    test('is not uninstalled by Helm while a node is out, and the reason can be read', async () => {
      const refused = await release('uninstall', '--timeout', '120s')
      expect(refused).toMatchObject({ code: 1 })
      const said = await cluster.kubectl('logs', '--namespace', namespace, 'job/fettle-uninstall')
      expect(said).toContain('out of service: node-1 since ')
      expect(said).toContain('--set uninstallHook.force=true')
      const left = (await podsOf(cluster.admin)).filter((line) => !line.startsWith('uninstall '))
      expect(left).toEqual(everyPodReady)
    })

    test('is uninstalled by Helm without a trace, once the node is back', async () => {
      const returned = await cluster.fettle('node', 'return', 'node-1')
      expect(returned, returned.stderr).toMatchObject({ code: 0 })
      const gone = await release('uninstall', '--timeout', '120s')
      expect(gone, gone.stderr).toMatchObject({ code: 0 })
      await eventually(async () => expect(await leftBehind()).toEqual([]), { withinMs: 30_000, everyMs: 500 })
      expect(await nodeMarks()).toEqual([])
      await cluster.kubectl('delete', 'namespace', namespace)
    })

    test('without Helm is the same, and is ready when the command returns', async () => {
      const installed = await cluster.fettle('install', '--image', image, '--node-selector', 'fettle.dev/real=true')
      expect(installed, installed.stderr).toMatchObject({ code: 0 })
      expect(installed.stderr).toContain(`${objectCount} objects: ${objectCount} created, 0 changed, 0 as they were`)
      expect(await podsOf(cluster.admin)).toEqual(everyPodReady)
      console.log(`fettle install: ${installed.seconds.toFixed(1)} s`)
      const again = await cluster.fettle('install', '--image', image, '--node-selector', 'fettle.dev/real=true')
      expect(again.stderr).toContain(`${objectCount} objects: 0 created, 0 changed, ${objectCount} as they were`)
    })

    test('drains the node that its leader runs on: the leader goes last, and the other one finishes', async () => {
      const leader = await eventually(leaderPod, patient)
      const { spec } = await cluster.admin.get<PodObject>(resources.pods, { name: leader, namespace })
      const node = spec?.nodeName ?? ''
      await cluster.admin.create(resources.deployments, quicklyStopping(node))
      await eventually(async () => expect(await runningOn(node)).toBe(3), { withinMs: 40_000, everyMs: 500 })
      const ends = followEnds(leader)
      const asked = await cluster.fettle('node', 'maintain', node, '--reason', 'own node')
      expect(asked, asked.stderr).toMatchObject({ code: 0 })
      expect(await leaderPod()).not.toBe(leader)
      expect((await ends.stop()).at(-1)).toBe(leader)
      expect(await runningOn(node)).toBe(0)
      await cluster.kubectl('delete', 'deployment', 'quick', '--namespace', 'default')
      const returned = await cluster.fettle('node', 'return', node)
      expect(returned, returned.stderr).toMatchObject({ code: 0 })
      // The new pod went where the other one is; a roll-out spreads them again.
      await cluster.kubectl('rollout', 'restart', 'deployment/fettle-controller', '--namespace', namespace)
      await eventually(async () => expect(await podsOf(cluster.admin)).toEqual(everyPodReady), patient)
    })

    test('without Helm refuses to go while a node is out, and gives it back when forced', async () => {
      const asked = await cluster.fettle('node', 'maintain', 'node-2', '--reason', 'e2e')
      expect(asked, asked.stderr).toMatchObject({ code: 0 })
      const refused = await cluster.fettle('uninstall')
      expect(refused.stderr).toContain('out of service: node-2 since ')
      expect(refused.stderr).toContain('or uninstall with --force, which withdraws all requests. Nothing was changed.')
      expect(await podsOf(cluster.admin)).toEqual(everyPodReady)
      const gone = await cluster.fettle('uninstall', '--force')
      expect(gone, gone.stderr).toMatchObject({ code: 0, stdout: 'Fettle is gone\n' })
      expect(await nodeMarks()).toEqual([])
      expect(await leftBehind()).toEqual([])
      expect(await namesOf(resources.namespaces)).not.toContain(`Namespace ${namespace}`)
    })

    test('on a cluster of one node does not wait for itself', async () => {
      for await (const page of cluster.admin.list<NodeObject>(resources.nodes))
        for (const { metadata } of page.items)
          if (metadata.name !== 'real-1') {
            const removed = await cluster.dev('node', 'remove', metadata.name ?? '')
            expect(removed, removed.stderr).toMatchObject({ code: 0 })
          }
      const one = ['--replicas', '1', '--agent-arg=--reboot-method=signal']
      const installed = await cluster.fettle('install', '--image', image, ...one)
      expect(installed, installed.stderr).toMatchObject({ code: 0 })
      const before = await podsOf(cluster.admin)
      const asked = await cluster.fettle('node', 'maintain', 'real-1', '--reason', 'the only one')
      expect(asked, asked.stderr).toMatchObject({ code: 0 })
      expect((await cluster.admin.get<NodeObject>(resources.nodes, { name: 'real-1' })).spec?.unschedulable).toBe(true)
      expect(await podsOf(cluster.admin)).toEqual(before)
      const returned = await cluster.fettle('node', 'return', 'real-1')
      expect(returned, returned.stderr).toMatchObject({ code: 0 })
      expect(await nodeMarks()).toEqual([])
    })

    test('and reboots it, by a signal, though the controller goes down with it', async () => {
      const bootID = async () =>
        (await cluster.admin.get<NodeObject>(resources.nodes, { name: 'real-1' })).status?.nodeInfo?.bootID
      const before = await bootID()
      const body = { spec: { timing: { minReadySeconds: 1 } } }
      await cluster.admin.patch(maintenanceBudgets, { name: budgetName }, { type: 'merge', body })
      const rebooted = await cluster.fettle('node', 'reboot', 'real-1', '--reason', 'microcode')
      expect(rebooted, rebooted.stderr).toMatchObject({ code: 0 })
      expect(await bootID()).not.toBe(before)
      expect(await nodeMarks()).toEqual([])
    })
  },
)
