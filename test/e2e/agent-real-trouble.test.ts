import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Phase } from '../../src/api/index.ts'
import { missingForRealNodes } from '../../src/dev/index.ts'
import { type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { repository } from '../support/fettle-process.ts'
import { listOf, stays } from '../support/queue-cluster.ts'
import { bringUpAgents, image, permitted, type RealAgents, retry, tellTrouble } from '../support/real-agents.ts'
import type { RealCluster } from '../support/real-cluster.ts'
import { dieOnce, letAgentsDie } from '../support/real-crash.ts'
import {
  hostProgram,
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
import { coverVar, uncoverVar } from '../support/real-scripts.ts'
import { watchForPermission } from '../support/real-witness.ts'

const missing = await missingForRealNodes()
/** What the agent does in both turns of a node, at least: no crash point is drawn beyond. */
const fewestActs = 24
const kustodianScript = readFileSync(join(repository, 'test/fixtures/scripts/kustodian-readme.sh'), 'utf8')

let agents: RealAgents
let cluster: RealCluster
let hosts: readonly RealHost[] = []
let one: RealHost
let two: RealHost
let three: RealHost

const reached = (request: RealRequest, phase: Phase) => untilPhase(cluster, request, phase)

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

describe.skipIf(missing.length > 0)(
  `agents on three real nodes in trouble (need root and systemd-nspawn${missing.length > 0 ? `: ${missing[0]}` : ''})`,
  { timeout: 300_000 },
  () => {
    beforeAll(async () => {
      agents = await bringUpAgents()
      ;({ cluster, hosts } = agents)
      ;[one, two, three] = agents.hosts
    }, 1_800_000)

    beforeEach(({ onTestFailed }) => onTestFailed(() => tellTrouble(agents), 120_000))

    afterAll(async () => {
      await cluster?.remove()
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
      await eventually(async () => {
        expect((await reached(request, 'Queued')).status?.waiting?.for).toBe('Budget')
      }, patiently)
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
      await retry(agents, request)
      await eventually(async () => {
        expect((await reached(request, 'Held')).status?.held?.message).toContain('EROFS')
      }, patiently)
      await three.sh('mount -o remount,rw /var')
      await retry(agents, request)
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
      const request = await permitted(agents, one)
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
