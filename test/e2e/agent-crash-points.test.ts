import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AgentHost, type AgentIdentity, LinuxHost } from '../../src/agent/index.ts'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../../src/api/index.ts'
import type { KubeClient } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import type { Interceptor } from '../support/intercepted-client.ts'
import { liveOnce } from '../support/live-agent.ts'
import { ensureHeartbeatNamespace, MemoryHost, Power, simulatedKubelet } from '../support/memory-host.ts'
import { followLedger, listOf, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'
import { goThroughBothTurns, type Machine, outOfService } from '../support/two-turns.ts'

useCrds()

/** The agent dies before one of its acts, or when the act is done and before it knows. */
interface CrashPoint {
  readonly at: number
  readonly when: 'before' | 'after'
}

/** A machine, and what a new agent that starts on it works with. */
interface Rig {
  readonly power: Power
  readonly machine: Machine
  newHost(): AgentHost
}

function memoryRig(_: Test, power: Power, onOrder: () => Promise<void>): Rig {
  const host = new MemoryHost({ power, onOrder })
  return { power, machine: host, newHost: () => host }
}

/** The folders of a machine, with the real files in them. Only the reboot is played. */
function folderRig(test: Test, power: Power, onOrder: () => Promise<void>): Rig {
  const folder = temporaryFolder(test)
  const at = (path: string) => join(folder, path)
  for (const path of ['var/lib/fettle/requests', 'run', 'random']) mkdirSync(at(path), { recursive: true })
  symlinkSync('/run', at('var/run'))
  const [requestFile, permissionFile, ours] = ['maintenance-required', 'maintenance-in-progress', '.ours']
  const script = (name: string) => at(`var/lib/fettle/requests/${name}`)
  const bootNow = () => writeFileSync(at('random/boot_id'), `${power.bootID}\n`)
  bootNow()
  const onBoot = () => {
    rmSync(at('run/reboot-required'), { force: true })
    bootNow()
  }
  const run = async () => {
    await onOrder()
    void power.cycle(onBoot)
    return { code: 0, stdout: '', stderr: '' }
  }
  const settings = {
    mounts: { '/var': at('var'), '/run': at('run'), '/proc/sys/kernel/random': at('random') },
    requestFile: `/var/${requestFile}`,
    permissionFile: `/var/${permissionFile}`,
    stateFolder: '/var/lib/fettle',
    bootIdFile: '/proc/sys/kernel/random/boot_id',
    reboot: {
      files: ['/var/run/reboot-required'],
      kernel: false,
      method: 'command',
      command: 'reboot',
      signal: 0,
      delayMs: 0,
    },
  } as const
  const machine: Machine = {
    async ask(name) {
      writeFileSync(script(name), 'reason=test\n')
      writeFileSync(at(`var/${requestFile}`), '')
      writeFileSync(script(ours), '')
    },
    wantReboot: async (name) => writeFileSync(script(name), `reason=test\nreboot-from=${power.bootID}\n`),
    async finish(name) {
      rmSync(at(`var/${requestFile}`))
      rmSync(script(name))
    },
    needReboot: async () => writeFileSync(at('run/reboot-required'), ''),
    isPermitted: async () => isThere(at(`var/${permissionFile}`)),
    bootID: async () => readFileSync(at('random/boot_id'), 'utf8').trim(),
  }
  return { power, machine, newHost: () => new LinuxHost(settings, { run }, systemClock) }
}

function isThere(path: string): boolean {
  try {
    return readFileSync(path, 'utf8') !== ''
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}

interface Run {
  readonly acts: readonly string[]
  readonly hasCrashed: boolean
  readonly problems: readonly string[]
}

/** Both turns of the node. The agent dies at the point, and the next one on the same machine goes on. */
async function goThrough(
  ground: QueueGround,
  node: AgentIdentity,
  rig: Rig,
  point: CrashPoint | undefined,
): Promise<Run> {
  await ground.untilRunning(node.name, 'web', 1)
  const acts: string[] = []
  const problems: string[] = []
  let hasCrashed = false
  const over = new AbortController()
  const agents = rig.power.keepRunning(
    (signal) => {
      const life = new AbortController()
      const alive = AbortSignal.any([signal, life.signal])
      const around: Interceptor = async (act, send) => {
        alive.throwIfAborted()
        acts.push(act)
        const isLast = acts.length === point?.at
        if (act === 'write the permission') problems.push(...(await outOfService(ground.admin, node.name)))
        if (!isLast) return send()
        // Also a refusal is an answer that nobody sees any more.
        if (point.when === 'after') await send().catch(() => undefined)
        hasCrashed = true
        life.abort(new Error('the agent died'))
        throw life.signal.reason
      }
      return liveOnce(ground.admin, node, rig.newHost(), around, alive)
    },
    AbortSignal.any([over.signal, ground.signal]),
  )
  const bootsBefore = rig.power.boots
  try {
    problems.push(...(await goThroughBothTurns(ground.admin, node.name, rig.machine)))
  } catch (error) {
    throw new Error(`it does not end when the agent dies ${point?.when} act ${point?.at} of: ${acts.join(', ')}`, {
      cause: error,
    })
  } finally {
    over.abort(new Error('both turns are over'))
    await agents
  }
  const boots = rig.power.boots - bootsBefore
  if (boots !== 2) problems.push(`the machine booted ${boots} times, and should have twice`)
  return { acts, hasCrashed, problems }
}

/** In the moment of the order: a request has stored that the machine leaves this boot, with the number of its slot. */
async function isUnfounded(admin: KubeClient, node: string, bootID: string): Promise<string[]> {
  const { status } = await admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
  const token = status?.slots.find((slot) => slot.node === node)?.token
  const requests = await listOf<MaintenanceRequest>(admin, maintenanceRequests, {
    fieldSelector: `spec.nodeName=${node}`,
  })
  const intents = requests.flatMap((request) => request.status?.host?.rebootIntent ?? [])
  const isStored = intents.some((intent) => intent.token === token && intent.fromBootID === bootID)
  return isStored ? [] : [`it reboots out of ${bootID} with slot ${token}; stored are ${JSON.stringify(intents)}`]
}

/** Some of all points, drawn anew each time; all of them with `npm run crash-points`. */
function drawn(points: readonly CrashPoint[], seed: number): readonly CrashPoint[] {
  return process.env['FETTLE_CRASH_POINTS'] === 'all' ? points : new SeededRandom(seed).sample(points, 4)
}

test.for([
  ['in memory', memoryRig],
  ['of real files', folderRig],
] as const)(
  'whichever of its acts the agent on a machine %s dies at, the next one brings the node home',
  {
    timeout: 1_800_000,
  },
  async ([, rigOf], context) => {
    const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
    console.log(`crash points: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
    const ground = await prepareQueue(context)
    const { admin } = ground
    await ensureHeartbeatNamespace(admin)
    await ground.setBudget({ timing: { minReadySeconds: 0 } })
    const name = await ground.addNode()
    await ground.addWorkload(name, { app: 'web', replicas: 1 })
    const { metadata, status } = await ground.node(name)
    const node = { name, uid: metadata.uid ?? '' }
    const orders: string[] = []
    const power = new Power(status?.nodeInfo?.bootID ?? randomUUID(), simulatedKubelet(admin, name))
    const rig = rigOf(context, power, async () => {
      orders.push(...(await isUnfounded(admin, name, power.bootID)))
    })
    const ledger = followLedger(context, ground)
    await ground.startQueue()

    const clean = await goThrough(ground, node, rig, undefined)
    expect(clean).toMatchObject({ hasCrashed: false, problems: [] })
    // What any run must do, so that a path that got shorter by accident does not pass as a good one.
    expect(clean.acts.filter((act) => !/leases/.test(act)).length).toBeGreaterThanOrEqual(15)
    const all = (['before', 'after'] as const).flatMap((when) =>
      clean.acts.map((_, index): CrashPoint => ({ at: index + 1, when })),
    )
    const points = drawn(all, seed)
    const failures: string[] = []
    let crashes = 0
    for (const point of points) {
      const { acts, hasCrashed, problems } = await goThrough(ground, node, rig, point)
      // A run may get by with an act less than the one that was counted.
      if (hasCrashed) crashes++
      failures.push(...problems.map((problem) => `${point.when} act ${point.at} (${acts[point.at - 1]}): ${problem}`))
    }
    console.log(`${crashes} of ${all.length} crash points; a run without a crash does:\n  ${clean.acts.join('\n  ')}`)
    expect([...failures, ...orders]).toEqual([])
    expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.8))
    expect(ledger.most).toBe(1)
    expect(ledger.tokens).toEqual([...ledger.tokens].sort((a, b) => a - b))
    expect(ledger.tokens.length).toBe(2 * (points.length + 1))
  },
)
