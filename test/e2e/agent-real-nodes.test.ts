import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Phase } from '../../src/api/index.ts'
import { healMachine, missingForRealNodes, partitionMachine, realNode, rebootRealNode } from '../../src/dev/index.ts'
import { type PodObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { repository } from '../support/fettle-process.ts'
import { type ProbedWorkload, runProbedWorkload } from '../support/probed-workload.ts'
import { listOf, stays } from '../support/queue-cluster.ts'
import { bringUpAgents, image, permitted, type RealAgents, retry, tellTrouble } from '../support/real-agents.ts'
import type { RealCluster } from '../support/real-cluster.ts'
import {
  budgetOf,
  isPodReady,
  pathOf,
  patiently,
  permissionFile,
  type RealHost,
  type RealRequest,
  requestFile,
  setBudget,
  slotsOf,
  untilPhase,
} from '../support/real-host.ts'
import { longWork, upgrade } from '../support/real-scripts.ts'
import { followNodesOut, podsToLeave } from '../support/real-witness.ts'

const missing = await missingForRealNodes()
const namespace = 'fettle-system'
const rebootFile = '/run/reboot-required'
const kustodianScript = readFileSync(join(repository, 'test/fixtures/scripts/kustodian-readme.sh'), 'utf8')

let agents: RealAgents
let cluster: RealCluster
let workload: ProbedWorkload | undefined
let hosts: readonly RealHost[] = []
let one: RealHost
let two: RealHost
let three: RealHost

const reached = (request: RealRequest, phase: Phase) => untilPhase(cluster, request, phase)
const bootIDs = () => Promise.all(hosts.map((host) => host.bootID()))

interface AgentPod extends PodObject {
  readonly status?: PodObject['status'] & { readonly podIP?: string }
}

describe.skipIf(missing.length > 0)(
  `agents on three real nodes (need root and systemd-nspawn${missing.length > 0 ? `: ${missing[0]}` : ''})`,
  { timeout: 300_000 },
  () => {
    beforeAll(async () => {
      agents = await bringUpAgents()
      ;({ cluster, hosts } = agents)
      ;[one, two, three] = agents.hosts
      workload = await runProbedWorkload(cluster.admin, image)
    }, 1_800_000)

    beforeEach(({ onTestFailed }) => onTestFailed(() => tellTrouble(agents), 120_000))

    afterAll(async () => {
      await workload?.stop()
      await cluster?.remove()
    })

    test("let Kustodian's own script work, as its authors wrote it, and give the node back after it", async () => {
      await one.startUnit('kustodian', kustodianScript)
      const request = await one.asked()
      await eventually(() => expect(one.has(permissionFile)).toBe(true), { ...patiently, everyMs: 5 })
      expect(await podsToLeave(cluster, one)).toEqual([])
      const done = await reached(request, 'Done')
      expect(pathOf(done)).toEqual(['Queued', 'Claimed', 'Granted', 'Finishing', 'Done'])
      expect(done.status?.outcome).toBe('Completed')
      await one.untilIdle()
      expect([requestFile, permissionFile].filter((path) => one.has(path))).toEqual([])
    })

    test('upgrade three nodes with a reboot in the middle: one after the other, one drain each, and nobody notices', async () => {
      const before = await bootIDs()
      const nodesOut = followNodesOut(cluster)
      await Promise.all(hosts.map((host) => host.startUnit('upgrade', upgrade, { isKept: true })))
      const requests = await Promise.all(hosts.map((host) => host.asked()))
      const done = await Promise.all(requests.map((request) => reached(request, 'Done')))
      await Promise.all(hosts.map((host) => host.untilIdle()))
      const { most, order } = await nodesOut.stop()
      for (const request of done) {
        expect(request.status).toMatchObject({ outcome: 'Completed', reboots: { count: 1 } })
        const path = ['Queued', 'Claimed', 'Granted', 'Rebooting', 'Granted', 'Finishing', 'Done']
        expect(pathOf(request)).toEqual(path)
      }
      const boots = await bootIDs()
      for (const [index, host] of hosts.entries()) {
        expect(boots[index], host.name).not.toBe(before[index])
        expect(host.has('/usr/share/upgrade/validated'), host.name).toBe(true)
        expect(host.has(permissionFile), host.name).toBe(false)
      }
      expect(most, 'nodes out at once').toBe(1)
      // In the order in which they asked, each with one slot for the script and its reboot.
      const asked = done.map(({ metadata, spec }) => ({ node: spec.nodeName, at: metadata.creationTimestamp ?? '' }))
      expect(order).toHaveLength(3)
      expect(order.map((node) => asked.find((each) => each.node === node)?.at)).toEqual(
        asked.map(({ at }) => at).sort(),
      )
      const probed = await workload?.stop()
      workload = undefined
      expect(probed?.looks).toBeGreaterThan(50)
      expect(probed?.lowest, 'pods that answered').toBeGreaterThanOrEqual(probed?.promised ?? Number.NaN)
    })

    test('reboot a machine that asks for it, and hold one that asks again right after it', async () => {
      await setBudget(cluster, { max: 2 })
      const before = await one.bootID()
      await one.sh(`touch ${rebootFile}`)
      await two.startUnit('again', `#!/bin/sh\ntouch ${rebootFile}\n`, { isKept: true })
      const [once, again] = [await one.asked(), await two.asked()]
      const { status } = await reached(once, 'Done')
      const after = await one.bootID()
      expect(after).not.toBe(before)
      expect(status).toMatchObject({
        outcome: 'Completed',
        reboots: { count: 1, bootIDBefore: before, bootIDAfter: after },
        host: { bootID: after },
      })
      expect((await one.node()).status?.nodeInfo?.bootID).toBe(after)
      await one.untilIdle()
      expect((await reached(again, 'Held')).status?.held).toMatchObject({ reason: 'StillRequired', from: 'Rebooting' })
      // Once it no longer asks, nobody has to say anything.
      await two.sh(`systemctl --quiet disable again; rm ${rebootFile}`)
      expect((await reached(again, 'Done')).status?.outcome).toBe('Completed')
      await two.untilIdle()
    })

    test('hold a node whose order to reboot has no effect, and reboot it when a person says: again', async () => {
      await setBudget(cluster, { defaults: { deadlines: { return: '2s' } } })
      const before = await one.bootID()
      await one.sh('mount --bind /bin/true /bin/systemctl')
      await one.sh(`touch ${rebootFile}`)
      const request = await one.asked()
      expect((await reached(request, 'Held')).status?.held).toMatchObject({
        reason: 'RebootNoEffect',
        from: 'Rebooting',
      })
      expect(await one.bootID()).toBe(before)
      await one.sh('umount /bin/systemctl')
      await setBudget(cluster)
      await retry(agents, request)
      expect((await reached(request, 'Done')).status?.outcome).toBe('Completed')
      expect(await one.bootID()).not.toBe(before)
      await one.untilIdle()
    })

    test('do not reboot when the command that should tell cannot be run, are not ready, and say why', async () => {
      const before = await bootIDs()
      const path = '/spec/template/spec/containers/0/args/-'
      const patch = [{ op: 'add', path, value: '--reboot-check=/usr/bin/no-such-check' }] as const
      const ref = { name: 'fettle-agent', namespace }
      await cluster.admin.patch(resources.daemonSets, ref, { type: 'json', body: patch })
      await eventually(async () => {
        const agents = { namespace, labelSelector: 'app.kubernetes.io/component=agent' }
        const pods = await listOf<AgentPod>(cluster.admin, resources.pods, agents)
        const pod = pods.find((each) => !isPodReady(each) && !each.metadata.deletionTimestamp)
        const answer = await fetch(`http://${pod?.status?.podIP}:8081/readyz`)
        expect(answer.status).toBe(503)
        expect(await answer.text()).toContain('`/usr/bin/no-such-check` ended with exit code 127')
      }, patiently)
      await cluster.kubectl('rollout', 'undo', 'daemonset/fettle-agent', '--namespace', namespace)
      for (const host of hosts) await host.untilIdle()
      expect(await bootIDs()).toEqual(before)
    })

    test('keep a script at work over restarts of the agent, the kubelet and containerd, in one slot', async () => {
      await two.startUnit('long-work', longWork)
      const request = await reached(await two.asked(), 'Granted')
      await eventually(() => expect(two.has(permissionFile)).toBe(true), patiently)
      const seen = () =>
        two.sh(`cat ${permissionFile}; stat -c %i ${permissionFile}; systemctl show -p MainPID long-work`)
      const [before, slots] = [await seen(), await slotsOf(cluster)]
      await two.sh('systemctl restart containerd && systemctl restart kubelet')
      await two.restartAgent()
      expect(await seen()).toBe(before)
      expect(await slotsOf(cluster)).toEqual(slots)
      await two.sh('touch /run/enough')
      const done = await reached(request, 'Done')
      expect(pathOf(done)).toEqual(['Queued', 'Claimed', 'Granted', 'Finishing', 'Done'])
      await two.untilIdle()
      expect((await budgetOf(cluster)).status?.nextToken).toBe((slots[0]?.token ?? 0) + 1)
    })

    test('give nobody the turn of a node that is cut off at work, and take its word once it is back', async () => {
      await setBudget(cluster, { timing: { minReadySeconds: 1, heartbeatTimeout: '25s' } })
      await three.startUnit('long-work', longWork)
      const working = await reached(await three.asked(), 'Granted')
      await eventually(() => expect(three.has(permissionFile)).toBe(true), patiently)
      await one.sh(`touch ${requestFile}`)
      const next = await one.asked()
      const slots = await slotsOf(cluster)
      await partitionMachine(realNode(cluster.record, three.name))
      try {
        await eventually(async () => {
          const { status } = await reached(working, 'Granted')
          expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'HostAlive', status: 'False' }))
        }, patiently)
        expect(await three.sh('systemctl is-active long-work')).toBe('active')
        // Even when it is done: nobody heard of it.
        await three.sh('touch /run/enough; while systemctl --quiet is-active long-work; do sleep 0.1; done')
        await stays(async () => expect(await slotsOf(cluster)).toEqual(slots), 3_000)
        expect((await reached(next, 'Queued')).status?.waiting?.for).toBe('Budget')
        expect(one.has(permissionFile)).toBe(false)
      } finally {
        await healMachine(realNode(cluster.record, three.name))
      }
      expect((await reached(working, 'Done')).status?.outcome).toBe('Completed')
      await reached(next, 'Granted')
      await one.sh(`rm ${requestFile}`)
      expect((await reached(next, 'Done')).status?.outcome).toBe('Completed')
      for (const host of [one, three]) await host.untilIdle()
      await setBudget(cluster)
    })

    test('count a reboot by hand under a script as progress', async () => {
      const before = await three.bootID()
      const request = await permitted(agents, three)
      await rebootRealNode(cluster.record, three.name)
      await eventually(async () => expect(await three.bootID()).not.toBe(before), patiently)
      const after = await eventually(async () => {
        const seen = await reached(request, 'Granted')
        expect(seen.status?.reboots?.count, JSON.stringify(seen.status)).toBe(1)
        return seen
      }, patiently)
      expect(after.status?.slot).toEqual(request.status?.slot)
      expect(three.has(permissionFile)).toBe(true)
      await three.sh(`rm ${requestFile}`)
      expect((await reached(request, 'Done')).status?.outcome).toBe('Completed')
      await three.untilIdle()
    })
  },
)
