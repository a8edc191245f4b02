import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunOptions, type RunResult, run, startDetached } from '../../host/index.ts'
import { DevFault } from '../errors.ts'
import {
  cgroupHierarchies,
  cgroupVersion,
  createCgroup,
  processesIn,
  removeCgroup,
  removeCgroupIfEmpty,
} from './cgroup-tree.ts'
import { imageFolder } from './config.ts'
import { bootCgroup, keeperScript } from './keeper.ts'
import { clusterCgroup, commonCgroup, type MachineRef, machineCgroup } from './names.ts'
import {
  createClusterNetwork,
  createMachineNetwork,
  deleteClusterNetwork,
  deleteMachineNetwork,
  namespacePath,
} from './network.ts'
import type { MachinePrograms } from './prepare.ts'
import { type Machine, machineRoot, makeMachineRoot, type StartOptions } from './root.ts'

/** Real nodes: booted systemd machines with kubelet, containerd and kube-proxy. */

/** What the machine said while it booted and stopped. */
export function machineLogPath(machine: Machine): string {
  return join(machine.folder, 'machine.log')
}

/** Boots the machine; a new one is made first. Returns when its first process runs, long before its Node is ready. */
export async function startMachine(machine: Machine, options: StartOptions): Promise<void> {
  // During a reboot there is a keeper and no first process; it is up all the same.
  if (processesIn(`${machineCgroup(machine)}/keeper`).length > 0) return
  await mkdir(machine.folder, { recursive: true, mode: 0o700 })
  await makeMachineRoot(machine, options)
  options.signal?.throwIfAborted()
  // First, because it refuses where the name is another cluster's.
  await createClusterNetwork(machine.cluster, machine.clusterIndex)
  await removeCgroup(machineCgroup(machine))
  for (const part of ['keeper', bootCgroup(cgroupVersion())]) createCgroup(`${machineCgroup(machine)}/${part}`)
  await createMachineNetwork(machine)
  await startDetached(['sh', await writeKeeper(machine, options.programs)], {
    logPath: machineLogPath(machine),
    env: {},
  })
  for (let waitedMs = 0; !isMachineRunning(machine); waitedMs += 20) {
    options.signal?.throwIfAborted()
    if (processesIn(machineCgroup(machine)).length === 0 && waitedMs > 1_000)
      throw new DevFault(`machine ${machine.name} did not boot:\n${await endOfLog(machine)}`)
    if (waitedMs > 30_000)
      throw new DevFault(`machine ${machine.name} has no first process after 30 s; see ${machineLogPath(machine)}`)
    await sleep(20)
  }
}

async function writeKeeper(machine: Machine, programs: MachinePrograms): Promise<string> {
  const stage = join(machine.folder, 'cgroup')
  await mkdir(stage, { recursive: true })
  const path = join(machine.folder, 'keeper.sh')
  const inside = (name: string) => `/usr/local/bin/${name}`
  const text = keeperScript({
    name: machine.name,
    hierarchies: cgroupHierarchies(),
    cgroup: machineCgroup(machine),
    stage,
    cgroupVersion: cgroupVersion(),
    networkNamespace: namespacePath(machine),
    root: machineRoot(machine),
    programs: [
      { from: programs.node, to: inside('node') },
      { from: programs.containerd, to: inside('containerd') },
      { from: programs.containerdShim, to: inside('containerd-shim-runc-v2') },
      { from: programs.ctr, to: inside('ctr') },
    ],
  })
  await writeFile(path, text, { mode: 0o700 })
  return path
}

async function endOfLog(machine: Machine): Promise<string> {
  const text = await readFile(machineLogPath(machine), 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-15).join('\n')
}

/** The host's id of the machine's process 1; undefined while it is off. */
export function leaderOf(machine: Pick<MachineRef, 'cluster' | 'name'>): number | undefined {
  return processesIn(`${machineCgroup(machine)}/machine`).find((pid) => {
    try {
      // Ids from the outside in: two, and the inner is 1. Pods lie one namespace deeper.
      const ids = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split(/\s+/)
      return ids?.length === 2 && ids[1] === '1'
    } catch {
      return false
    }
  })
}

export function isMachineRunning(machine: Pick<MachineRef, 'cluster' | 'name'>): boolean {
  return leaderOf(machine) !== undefined
}

/** Runs a command inside the machine, as root, in all its namespaces. */
export async function runInMachine(
  machine: Pick<MachineRef, 'cluster' | 'name'>,
  argv: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const leader = leaderOf(machine)
  if (leader === undefined) throw new DevFault(`machine ${machine.name} is off`)
  return run(['nsenter', '--target', String(leader), '--all', '--', ...argv], options)
}

/** Asks the machine to reboot, as a person on it would. Returns at once; the Node then shows a new boot id. */
export async function rebootMachine(machine: Pick<MachineRef, 'cluster' | 'name'>): Promise<void> {
  await runInMachine(machine, ['systemctl', 'reboot'])
}

/** Shuts the machine down in order; without an answer within `graceMs` it is cut off like by a power failure. */
export async function stopMachine(machine: MachineRef, options: { readonly graceMs?: number } = {}): Promise<void> {
  const graceMs = options.graceMs ?? 10_000
  if (graceMs > 0 && isMachineRunning(machine)) {
    await runInMachine(machine, ['systemctl', 'poweroff'])
    for (let waitedMs = 0; waitedMs < graceMs && isMachineRunning(machine); waitedMs += 50) await sleep(50)
  }
  // First the keeper: it must not boot the machine again.
  await removeCgroup(`${machineCgroup(machine)}/keeper`)
  await removeCgroup(machineCgroup(machine))
  await deleteMachineNetwork(machine)
}

/** Stops the machine without grace and deletes its files. */
export async function removeMachine(machine: Machine): Promise<void> {
  await stopMachine(machine, { graceMs: 0 })
  await rm(machine.folder, { recursive: true, force: true })
}

/** Makes an image known to the machine's container runtime, under the name that its archive carries; over reboots too. */
export async function importImage(machine: Machine, archive: string): Promise<void> {
  const inside = `${imageFolder}/${randomBytes(6).toString('hex')}.tar`
  await cp(archive, join(machineRoot(machine), inside))
  const imported = await runInMachine(machine, [
    '/usr/local/bin/ctr',
    '--namespace',
    'k8s.io',
    'images',
    'import',
    inside,
  ])
  await rm(join(machineRoot(machine), inside), { force: true })
  if (imported.code !== 0)
    throw new DevFault(`machine ${machine.name} refused the image ${archive}: ${imported.stderr.trim()}`)
}

/**
 * Ends every machine of the cluster and removes its cgroups and networks. It needs nothing but the name, because
 * the record may be what was lost; it does nothing where nothing is. Files are left to the caller.
 */
export async function removeAllMachines(cluster: string): Promise<void> {
  await removeCgroup(clusterCgroup(cluster))
  removeCgroupIfEmpty(commonCgroup)
  await deleteClusterNetwork(cluster)
}
