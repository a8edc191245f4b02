import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Phase } from '../../src/api/index.ts'
import { healMachine, missingForRealNodes, partitionMachine, realNode, rebootRealNode } from '../../src/dev/index.ts'
import { type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { repository } from '../support/fettle-process.ts'
import { type ProbedWorkload, runProbedWorkload } from '../support/probed-workload.ts'
import { listOf, stays } from '../support/queue-cluster.ts'
import { bringUpRealCluster, type RealCluster } from '../support/real-cluster.ts'
import { dieOnce, letAgentsDie } from '../support/real-crash.ts'
import {
  budgetOf,
  hostProgram,
  isPodReady,
  pathOf,
  patiently,
  permissionFile,
  type RealHost,
  type RealRequest,
  realHost,
  requestFile,
  setBudget,
  slotsOf,
  untilPhase,
} from '../support/real-host.ts'
import { coverVar, longWork, uncoverVar, upgrade } from '../support/real-scripts.ts'
import { followNodesOut, podsToLeave, watchForPermission } from '../support/real-witness.ts'

const missing = await missingForRealNodes()
const namespace = 'fettle-system'
const image = 'fettle.dev/fettle:e2e'
const rebootFile = '/run/reboot-required'
/** What the agent does in both turns of a node, at least: no crash point is drawn beyond. */
const fewestActs = 30
const kustodianScript = readFileSync(join(repository, 'test/fixtures/scripts/kustodian-readme.sh'), 'utf8')

let cluster: RealCluster
let workload: ProbedWorkload | undefined
let hosts: readonly RealHost[] = []
let one: RealHost
let two: RealHost
let three: RealHost

const reached = (request: RealRequest, phase: Phase) => untilPhase(cluster, request, phase)
const bootIDs = () => Promise.all(hosts.map((host) => host.bootID()))

async function retry({ metadata: { name } }: RealRequest): Promise<void> {
  const said = await cluster.fettle('node', 'retry', name, '--reason', 'e2e', '--no-wait')
  expect(said, said.stderr).toMatchObject({ code: 0 })
}

/** Asks by the file, as a script of the old kind does; answers once it may work. */
async function permitted(host: RealHost): Promise<RealRequest> {
  await host.sh(`touch ${requestFile}`)
  const request = await reached(await host.asked(), 'Granted')
  await eventually(() => expect(host.has(permissionFile)).toBe(true), patiently)
  return request
}

/** A pod that takes its time to stop, on this node or nowhere. */
async function runSlowPod(host: RealHost): Promise<void> {
  const labels = { app: 'slow', on: host.name }
  const program = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1e6)"
  await cluster.admin.create<KubeObject>(resources.deployments, {
    metadata: { name: `slow-${host.name}`, namespace: 'default', labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': host.name },
          terminationGracePeriodSeconds: 60,
          containers: [
            { name: 'slow', image, imagePullPolicy: 'Never', command: ['/usr/local/bin/node', '-e', program] },
          ],
        },
      },
    },
  } as KubeObject)
  await eventually(async () => {
    const pods = { namespace: 'default', labelSelector: `app=slow,on=${host.name}` }
    expect((await listOf<PodObject>(cluster.admin, resources.pods, pods)).filter(isPodReady)).toHaveLength(1)
  }, patiently)
}

interface AgentPod extends PodObject {
  readonly status?: PodObject['status'] & { readonly podIP?: string }
}

describe.skipIf(missing.length > 0)(
  `agents on three real nodes (need root and systemd-nspawn${missing.length > 0 ? `: ${missing[0]}` : ''})`,
  { timeout: 300_000 },
  () => {
    beforeAll(async () => {
      cluster = await bringUpRealCluster(`agent-${process.pid}`, 0, 3)
      hosts = cluster.nodes.map((name) => realHost(cluster, name))
      ;[one, two, three] = hosts as [RealHost, RealHost, RealHost]
      // One controller: with two on the last node that takes pods, its drain waits for one after the other.
      const options = ['--replicas', '1', '--agent-arg=--max-reboots-per-day=1000']
      const installed = await cluster.fettle('install', '--image', image, ...options)
      expect(installed, installed.stderr).toMatchObject({ code: 0 })
      await setBudget(cluster)
      // The agents put it there.
      for (const host of hosts) await eventually(() => expect(host.has(hostProgram)).toBe(true), patiently)
      workload = await runProbedWorkload(cluster.admin, image)
    }, 1_800_000)

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
      await retry(request)
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
      const request = await permitted(three)
      await rebootRealNode(cluster.record, three.name)
      await eventually(async () => expect(await three.bootID()).not.toBe(before), patiently)
      const after = await eventually(async () => {
        const seen = await reached(request, 'Granted')
        expect(seen.status?.reboots?.count).toBe(1)
        return seen
      }, patiently)
      expect(after.status?.slot).toEqual(request.status?.slot)
      expect(three.has(permissionFile)).toBe(true)
      await three.sh(`rm ${requestFile}`)
      expect((await reached(request, 'Done')).status?.outcome).toBe('Completed')
      await three.untilIdle()
    })

    test('take away a permission that is none of theirs, before a script starts on it', async () => {
      await setBudget(cluster, { max: 0 })
      const foreign = { request: 'real-1-file-0', requestUID: 'r', nodeUID: 'n', token: 1, bootID: 'b', grantedAt: 't' }
      await one.write(permissionFile, '')
      await eventually(() => expect(one.has(permissionFile)).toBe(false), patiently)
      await one.write(permissionFile, JSON.stringify(foreign))
      await one.startUnit('kustodian', kustodianScript)
      const request = await one.asked()
      expect(one.has(permissionFile)).toBe(false)
      // Longer than the script rests between its looks.
      await stays(async () => expect(await one.sh('systemctl is-active kustodian')).toBe('active'), 5_500)
      expect((await reached(request, 'Queued')).status?.waiting?.for).toBe('Budget')
      await one.sh(`systemctl stop kustodian; rm ${requestFile}`)
      expect((await reached(request, 'Done')).status?.outcome).toBe('Withdrawn')
      await one.untilIdle()
    })

    test('permit nothing when the request goes while pods still leave, and leave the cordon of a person alone', async () => {
      await setBudget(cluster, { max: 2 })
      await Promise.all([runSlowPod(one), runSlowPod(two)])
      await cluster.kubectl('cordon', two.name)
      await Promise.all(
        [one, two].map(async (host) => {
          const permission = watchForPermission(host)
          await host.sh(`touch ${requestFile}`)
          const request = await host.asked()
          await eventually(async () => {
            expect((await reached(request, 'Claimed')).status?.drain?.left).toBeGreaterThan(0)
          }, patiently)
          await host.sh(`rm ${requestFile}`)
          expect((await reached(request, 'Done')).status?.outcome).toBe('Withdrawn')
          expect(permission.stop()).toBe(false)
        }),
      )
      expect((await one.node()).spec?.unschedulable ?? false).toBe(false)
      expect((await two.node()).spec?.unschedulable).toBe(true)
      await cluster.kubectl('uncordon', two.name)
      await cluster.kubectl('delete', 'deployments,pods', '--selector=app=slow', '--grace-period=0', '--force')
      for (const host of [one, two]) await host.untilIdle()
    })

    test('hold a node whose script fails, with its words, and one whose script hangs', async () => {
      await setBudget(cluster, { max: 2 })
      await two.sh(`${hostProgram} request disk && ${hostProgram} wait disk --timeout 60`)
      const failed = await two.asked()
      await two.sh(`${hostProgram} fail disk 'bad blocks on sda'`)
      expect((await reached(failed, 'Held')).status?.held).toMatchObject({
        reason: 'ScriptFailed',
        message: 'disk: bad blocks on sda',
      })
      await setBudget(cluster, { max: 2, defaults: { deadlines: { work: '1s' } } })
      await three.sh(`touch ${requestFile}`)
      const hanging = await three.asked()
      expect((await reached(hanging, 'Held')).status?.held).toMatchObject({ reason: 'WorkDeadline', from: 'Granted' })
      for (const host of [two, three]) expect(host.has(permissionFile), host.name).toBe(true)
      await setBudget(cluster)
      await two.sh(`${hostProgram} done disk`)
      await three.sh(`rm ${requestFile}`)
      for (const request of [failed, hanging])
        expect((await reached(request, 'Done')).status?.outcome).toBe('Completed')
      for (const host of [two, three]) await host.untilIdle()
    })

    test('hold a node on which the permission cannot be written: /var is full, then read-only', async () => {
      await three.sh(coverVar)
      await three.restartAgent()
      await three.sh(`touch ${requestFile}; dd if=/dev/zero of=/var/fill bs=4k status=none || true`)
      const request = await three.asked()
      const full = await reached(request, 'Held')
      expect(full.status?.held).toMatchObject({ reason: 'PermissionNotWritable', from: 'Granted' })
      expect(full.status?.held?.message).toContain('ENOSPC')
      await three.sh('rm /var/fill; mount -o remount,ro /var')
      await retry(request)
      await eventually(async () => {
        expect((await reached(request, 'Held')).status?.held?.message).toContain('EROFS')
      }, patiently)
      await three.sh('mount -o remount,rw /var')
      await retry(request)
      await reached(request, 'Granted')
      await eventually(() => three.sh(`test -e ${permissionFile}`), patiently)
      await three.sh(`rm ${requestFile}`)
      // Not drained again for any of it.
      const path = ['Queued', 'Claimed', 'Granted', 'Held', 'Granted', 'Held', 'Granted', 'Finishing', 'Done']
      expect(pathOf(await reached(request, 'Done'))).toEqual(path)
      await three.sh(uncoverVar)
      await three.restartAgent()
      await three.untilIdle()
    })

    test('never give back a node that forgot what it was permitted', async () => {
      const request = await permitted(one)
      await one.sh('mount -t tmpfs tmpfs /var/lib/fettle')
      await one.restartAgent()
      const { status } = await reached(request, 'Held')
      expect(status?.held).toMatchObject({ reason: 'HostUnreadable' })
      expect(status?.host).toMatchObject({ request: 'Unreadable', permission: 'Unreadable' })
      await one.sh(`rm ${requestFile}`)
      const slots = await slotsOf(cluster)
      await stays(async () => expect(await slotsOf(cluster)).toEqual(slots), 2_000)
      expect(one.has(permissionFile)).toBe(true)
      await one.sh('umount /var/lib/fettle')
      await one.restartAgent()
      expect((await reached(request, 'Done')).status?.outcome).toBe('Completed')
      await one.untilIdle()
      expect(one.has(permissionFile)).toBe(false)
    })

    test('bring the node home, whichever of its acts the agent is killed before', { timeout: 3_600_000 }, async () => {
      await setBudget(cluster, { max: 2 })
      await letAgentsDie(cluster, hosts)
      const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
      console.log(`crash points: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
      const random = new SeededRandom(seed)
      const crash = async (host: RealHost, at: number) => {
        const { diedBefore, acts, problems } = await dieOnce(cluster, host, at)
        console.log(`${host.name}: ${diedBefore ? `died before act ${at}: ${diedBefore}` : `${acts.length} acts`}`)
        expect(problems.map((problem) => `died before act ${at} (${diedBefore}): ${problem}`)).toEqual([])
        return diedBefore !== undefined
      }
      await Promise.all(
        [one, two].map(async (host, index) => {
          if (process.env['FETTLE_CRASH_POINTS'] !== 'all')
            return expect(await crash(host, random.between(1, fewestActs))).toBe(true)
          // Every second act each, until a run is over before its act comes.
          let at = index + 1
          while (await crash(host, at)) at += 2
          expect(at).toBeGreaterThan(fewestActs)
        }),
      )
    })
  },
)
