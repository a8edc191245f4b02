import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DevFault } from '../errors.ts'

/**
 * A cgroup of ours, under the same path in every hierarchy. Membership is inherited and cannot be shed, so the
 * tree under it holds every process that a machine ever started: it answers "what is left?" better than any list.
 */

const mountPoint = '/sys/fs/cgroup'

export function cgroupVersion(): 1 | 2 {
  return existsSync(join(mountPoint, 'cgroup.procs')) ? 2 : 1
}

/** Mount points of all hierarchies; on version 2 there is one. */
export function cgroupHierarchies(): string[] {
  if (cgroupVersion() === 2) return [mountPoint]
  // Links are second names of joint hierarchies: cpu and cpuacct of cpu,cpuacct.
  return entriesOf(mountPoint)
    .map((name) => join(mountPoint, name))
    .filter((path) => lstatSync(path).isDirectory() && existsSync(join(path, 'cgroup.procs')))
}

export function createCgroup(path: string): void {
  for (const hierarchy of cgroupHierarchies()) {
    let folder = hierarchy
    for (const part of path.split('/')) {
      const parent = folder
      folder = join(parent, part)
      handOnControllers(parent)
      mkdirSync(folder, { recursive: true })
      // On version 1 a new cpuset has no processor and no memory, and takes no process.
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (cgroupVersion() === 1 && existsSync(join(folder, file)))
          writeFileSync(join(folder, file), readFileSync(join(parent, file)))
    }
  }
}

/** On version 2 a cgroup has only the controllers that its parent hands on. */
function handOnControllers(folder: string): void {
  const controllers = readText(join(folder, 'cgroup.controllers')).split(/\s+/).filter(Boolean)
  for (const controller of controllers) {
    try {
      writeFileSync(join(folder, 'cgroup.subtree_control'), `+${controller}`)
    } catch {
      // Some cannot be handed on where processes live beside the children (realtime cpu); the others suffice.
    }
  }
}

/** All processes in the cgroup and below it, of all hierarchies. */
export function processesIn(path: string): number[] {
  const found = new Set<number>()
  for (const hierarchy of cgroupHierarchies()) {
    for (const folder of withDescendants(join(hierarchy, path)))
      for (const pid of readText(join(folder, 'cgroup.procs')).split('\n')) if (pid) found.add(Number(pid))
  }
  // 0 stands for a process that this one cannot see.
  found.delete(0)
  return [...found]
}

/** Kills whatever lives in the cgroup, then removes it with everything below. Does nothing if there is none. */
export async function removeCgroup(path: string, withinMs = 15_000): Promise<void> {
  const deadline = Date.now() + withinMs
  for (;;) {
    for (const pid of processesIn(path)) kill(pid)
    if (cgroupHierarchies().every((hierarchy) => removeFolders(join(hierarchy, path)))) return
    if (Date.now() > deadline)
      throw new DevFault(
        `cgroup ${path} is still in use after ${withinMs / 1000} s, by processes ${processesIn(path).join(', ') || 'that are ending'}`,
      )
    await sleep(20)
  }
}

/** Removes a cgroup that neither processes nor other cgroups use any more. */
export function removeCgroupIfEmpty(path: string): void {
  for (const hierarchy of cgroupHierarchies()) {
    try {
      rmdirSync(join(hierarchy, path))
    } catch {
      // Absent, or still someone's.
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

function removeFolders(folder: string): boolean {
  for (const one of withDescendants(folder).reverse()) {
    try {
      rmdirSync(one)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false
    }
  }
  return true
}

/** Parents first. Empty if the folder does not exist. */
function withDescendants(folder: string): string[] {
  if (!existsSync(folder)) return []
  const children = entriesOf(folder).filter((name) => isFolder(join(folder, name)))
  return [folder, ...children.flatMap((name) => withDescendants(join(folder, name)))]
}

// A cgroup may vanish between being listed and being read: its machine removes them too.
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
