import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  type Phase,
  type Slot,
} from '../../src/api/index.ts'
import { realNode } from '../../src/dev/index.ts'
import { runInMachine } from '../../src/dev/machine/machine.ts'
import { machineRoot } from '../../src/dev/machine/root.ts'
import {
  type ConnectedClient,
  type KubeObject,
  type NodeObject,
  type PodObject,
  type Resource,
  resources,
  type WatchOptions,
} from '../../src/kube/index.ts'
import { isOpen } from '../../src/queue/index.ts'
import { eventually } from './e2e-cluster.ts'
import { isReady, listOf } from './queue-cluster.ts'
import type { RealCluster } from './real-cluster.ts'

/** A real node as a person with a shell on it sees it, and what the cluster says of it. */
export interface RealHost {
  readonly name: string
  /** Runs lines of shell as root; answers what they print, and throws when they fail. */
  sh(lines: string): Promise<string>
  write(path: string, text: string, mode?: string): Promise<void>
  /** Whether the disk of the machine has this path; without what is mounted over it. */
  has(path: string): boolean
  bootID(): Promise<string>
  /** As a service of systemd, outside of every pod; with `isKept` it also runs at each boot. */
  startUnit(unit: string, script: string, options?: { readonly isKept?: boolean }): Promise<void>
  node(): Promise<NodeObject>
  /** Waits until the node has an open request. */
  asked(): Promise<RealRequest>
  /** Ready, schedulable, without a request or a mark of ours, and its agent is ready. */
  untilIdle(): Promise<void>
  /** Waits for the pod that comes in its place. */
  restartAgent(): Promise<void>
}

export type RealRequest = MaintenanceRequest & { readonly metadata: { readonly name: string } }

export const requestFile = '/var/maintenance-required'
export const permissionFile = '/var/maintenance-in-progress'
export const hostProgram = '/var/lib/fettle/host'

/** A reboot takes seconds; but three nodes may be in line, and the machine under them busy. */
export const patiently = { withinMs: 240_000, everyMs: 100 } as const
const namespace = 'fettle-system'

export function realHost(cluster: RealCluster, name: string): RealHost {
  const { admin, record } = cluster
  const machine = realNode(record, name)
  const node = () => admin.get<NodeObject>(resources.nodes, { name })
  const runSh = async (lines: string, input = '') => {
    const { code, stdout, stderr } = await runInMachine(machine, ['/bin/sh', '-ec', lines], { input })
    if (code !== 0) throw new Error(`on ${name}, \`${lines}\` ended with exit code ${code}: ${stderr.trim()}`)
    return stdout.trim()
  }
  const write = async (path: string, text: string, mode = '644') => {
    // In one step: an agent may take it away in the next moment.
    await runSh(
      `mkdir -p "$(dirname ${path})"; cat >${path}.new; chmod ${mode} ${path}.new; mv ${path}.new ${path}`,
      text,
    )
  }
  const agentPod = async () => {
    const pods = await listOf<PodObject>(admin, resources.pods, {
      namespace,
      labelSelector: 'app.kubernetes.io/component=agent',
      fieldSelector: `spec.nodeName=${name}`,
    })
    expect(pods, `agents on ${name}`).toHaveLength(1)
    return pods[0] as PodObject
  }
  return {
    name,
    node,
    write,
    sh: (lines) => runSh(lines),
    has: (path) => existsSync(join(machineRoot(machine), path)),
    bootID: () => runSh('cat /proc/sys/kernel/random/boot_id'),
    async startUnit(unit, script, { isKept = false } = {}) {
      const program = `/usr/local/sbin/${unit}`
      await write(program, script, '755')
      if (!isKept) {
        await runSh(`systemd-run --quiet --collect --unit=${unit} ${program}`)
        return
      }
      await write(`/etc/systemd/system/${unit}.service`, keptUnit(program))
      await runSh(`systemctl --quiet enable ${unit} && systemctl start --no-block ${unit}`)
    },
    asked: () =>
      eventually(async () => {
        const requests = await listOf<RealRequest>(admin, maintenanceRequests)
        const found = requests.find((request) => request.spec.nodeName === name && isOpen(request))
        if (!found) throw new Error(`${name} has no open request`)
        return found
      }, patiently),
    async untilIdle() {
      await eventually(async () => {
        const { metadata, spec, ...seen } = await node()
        const marks = Object.keys(metadata.annotations ?? {}).filter((key) => /(^|\.)fettle\.dev\//.test(key))
        const open = (await listOf<RealRequest>(admin, maintenanceRequests)).filter(
          (request) => request.spec.nodeName === name && isOpen(request),
        )
        expect(isReady({ metadata, ...seen }), `${name} is Ready`).toBe(true)
        expect({ marks, isCordoned: spec?.unschedulable ?? false, open: open.map((one) => one.status) }).toEqual({
          marks: [],
          isCordoned: false,
          open: [],
        })
        expect(isPodReady(await agentPod()), `the agent of ${name} is ready`).toBe(true)
      }, patiently)
    },
    async restartAgent() {
      const { metadata } = await agentPod()
      await admin.delete(resources.pods, { name: metadata.name ?? '', namespace }, { uid: metadata.uid ?? '' })
      await eventually(async () => {
        const pod = await agentPod()
        expect(pod.metadata.uid).not.toBe(metadata.uid)
        expect(isPodReady(pod), `the agent of ${name} is ready`).toBe(true)
      }, patiently)
    },
  }
}

function keptUnit(program: string): string {
  return `[Service]\nType=oneshot\nTimeoutStartSec=infinity\nExecStart=${program}\n[Install]\nWantedBy=multi-user.target\n`
}

export function isPodReady({ metadata, status }: PodObject): boolean {
  const isSaid = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
  return isSaid && metadata.deletionTimestamp === undefined
}

/** Until the request is there; answers it. */
export async function untilPhase(
  { admin }: RealCluster,
  { metadata: { name } }: RealRequest,
  phase: Phase,
): Promise<RealRequest> {
  return eventually(async () => {
    const seen = await admin.get<RealRequest>(maintenanceRequests, { name })
    expect(seen.status?.phase, JSON.stringify(seen.status)).toBe(phase)
    return seen
  }, patiently)
}

export async function budgetOf({ admin }: RealCluster): Promise<MaintenanceBudget> {
  return admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
}

export async function slotsOf(cluster: RealCluster): Promise<readonly Slot[]> {
  return (await budgetOf(cluster)).status?.slots ?? []
}

/** Real nodes come back quickly here; what is left out has its default. */
export async function setBudget({ admin }: RealCluster, spec: object = {}): Promise<void> {
  const budget = { metadata: { name: budgetName }, spec: { max: 1, timing: { minReadySeconds: 1 }, ...spec } }
  await admin.apply(maintenanceBudgets, budget as KubeObject, { fieldManager: 'e2e', force: true })
}

/** The phases that a request went through. */
export function pathOf({ status }: MaintenanceRequest): Phase[] {
  return (status?.history ?? []).map(({ phase }) => phase)
}

/** Sees each version of the objects that is stored from now on, beginning with those that are there. */
export function follow<T extends KubeObject>(
  admin: ConnectedClient,
  resource: Resource,
  see: (object: T, isGone: boolean) => void,
  options: Omit<WatchOptions, 'signal'> = {},
): { stop(): Promise<void> } {
  const end = new AbortController()
  const following = (async () => {
    while (!end.signal.aborted)
      try {
        for await (const event of admin.watch<T>(resource, { ...options, signal: end.signal }))
          if (event.type !== 'BOOKMARK') see(event.object, event.type === 'DELETED')
      } catch (error) {
        if (!end.signal.aborted) throw error
      }
  })()
  return {
    async stop() {
      end.abort(new Error('seen enough'))
      await following
    },
  }
}
