import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What a cluster could leave behind on the host, one list of names for each kind. */
export interface Leftovers {
  /** Every process started by a fettle of this home, however far down: they inherit its FETTLE_HOME. */
  readonly processes: readonly string[]
  readonly links: readonly string[]
  readonly namespaces: readonly string[]
  readonly mounts: readonly string[]
  readonly cgroups: readonly string[]
  readonly files: readonly string[]
}

export const nothing: Leftovers = { processes: [], links: [], namespaces: [], mounts: [], cgroups: [], files: [] }

/**
 * Looks at the host itself and asks no code of the product. Take one before and one after, and compare with
 * `newSince`: other clusters may live on the same machine all the time.
 */
export function leftoversOf(home: string): Leftovers {
  return {
    processes: processesOf(home),
    links: entries('/sys/class/net').map((name) => `${name} ${text(`/sys/class/net/${name}/ifalias`).trim()}`.trim()),
    namespaces: entries('/run/netns'),
    mounts: text('/proc/self/mounts')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((path) => path.startsWith(home) || /netns|nspawn|fettle/.test(path)),
    cgroups: cgroupRoots().flatMap((root) => entries(join(root, 'fettle')).map((name) => join(root, 'fettle', name))),
    files: filesUnder(home),
  }
}

/** What is there now and was not before. Clusters of other homes, which carry other names, do not count. */
export function newSince(before: Leftovers, after: Leftovers, clusterName: string): Leftovers {
  const isOthers = (entry: string) => /fettle[-/][a-z0-9]/.test(entry) && !entry.includes(clusterName)
  const added = (kind: keyof Leftovers) =>
    after[kind].filter((entry) => !before[kind].includes(entry) && !(kind !== 'files' && isOthers(entry)))
  return {
    processes: after.processes.filter((entry) => !before.processes.includes(entry)),
    links: added('links'),
    namespaces: added('namespaces'),
    // The folder of namespaces is mounted as long as anyone has one.
    mounts: added('mounts').filter((path) => path !== '/run/netns' || after.namespaces.length === 0),
    cgroups: added('cgroups').filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory()),
    files: added('files'),
  }
}

function processesOf(home: string): string[] {
  return entries('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    const mentions = (file: string) =>
      text(`/proc/${pid}/${file}`)
        .split('\0')
        .some((part) => part.includes(home))
    if (!mentions('environ') && !mentions('cmdline')) return []
    // A zombie has ended; its parent, maybe this very process, has not looked yet.
    if (/^State:\s+Z/m.test(text(`/proc/${pid}/status`))) return []
    return [`${pid} ${text(`/proc/${pid}/cmdline`).split('\0').slice(0, 3).join(' ').trim()}`]
  })
}

function cgroupRoots(): string[] {
  const root = '/sys/fs/cgroup'
  return existsSync(join(root, 'cgroup.procs')) ? [root] : entries(root).map((name) => join(root, name))
}

function filesUnder(folder: string): string[] {
  return entries(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? filesUnder(path) : [path]
  })
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
