import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../host/index.ts'
import { DevFault } from '../errors.ts'
import { withFolderLock } from '../folder-lock.ts'

/** The bare Debian system that every machine starts from; made once by debootstrap, then copied. */
export interface RootFilesystemRecipe {
  readonly suite: string
  readonly packages: readonly string[]
  /** Not needed by machines, and a third of the size of each copy. */
  readonly removed: readonly string[]
}

export const rootFilesystemRecipe: RootFilesystemRecipe = {
  suite: 'bookworm',
  packages: [
    // A machine that boots, with what maintenance meets on a real one: services, timers, cron.
    'systemd',
    'systemd-sysv',
    'dbus',
    'cron',
    'procps',
    'kmod',
    // What kubelet, containerd and kube-proxy call.
    'mount',
    'iproute2',
    'nftables',
    'iptables',
    'runc',
    'containernetworking-plugins',
  ],
  removed: [
    'usr/share/doc',
    'usr/share/man',
    'usr/share/locale',
    'var/cache/apt',
    'var/lib/apt/lists',
    'var/log/bootstrap.log',
  ],
}

/** Returns the folder of the root file system, making it first if the cache has none of this recipe. */
export async function ensureRootFilesystem(
  cacheDir: string,
  log: (line: string) => void,
  signal?: AbortSignal,
  recipe: RootFilesystemRecipe = rootFilesystemRecipe,
): Promise<string> {
  const parent = join(cacheDir, 'machines')
  const folder = join(parent, `root-${recipeHash(recipe)}`)
  if (existsSync(folder)) return folder
  await mkdir(parent, { recursive: true })
  return withFolderLock(join(parent, 'root.lock'), signal, async () => {
    // Another process may have made it while this one waited.
    if (existsSync(folder)) return folder
    const scratch = await mkdtemp(`${folder}.part-`)
    try {
      await debootstrap(recipe, join(scratch, 'root'), log, signal)
      await rename(join(scratch, 'root'), folder)
      return folder
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  })
}

export function recipeHash(recipe: RootFilesystemRecipe): string {
  return createHash('sha256')
    .update(JSON.stringify([recipe, process.arch]))
    .digest('hex')
    .slice(0, 16)
}

async function debootstrap(
  recipe: RootFilesystemRecipe,
  root: string,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const made = await run(
    [
      // It mounts /proc and leaves helpers behind when stopped half-way: both end with these namespaces.
      ...['unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
      ...['debootstrap', '--variant=minbase', `--include=${recipe.packages.join(',')}`, recipe.suite, root],
    ],
    {
      deadlineMs: 30 * 60_000,
      onLine: debootstrapProgress(log),
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      ...(signal ? { signal } : {}),
    },
  )
  if (made.code !== 0)
    throw new DevFault(
      `debootstrap could not make the machines' root file system; it fetches Debian packages, so check the network. ` +
        `Simulated nodes work without.\n${lastLines(made.stdout + made.stderr)}`,
    )
  for (const path of recipe.removed) await rm(join(root, path), { recursive: true, force: true })
  // Each machine is given an identity of its own.
  await rm(join(root, 'etc/machine-id'), { force: true })
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-8).join('\n')
}

/** Turns its several hundred lines into a step and a count. */
export function debootstrapProgress(log: (line: string) => void): (line: string) => void {
  const counts = new Map<string, number>()
  return (line) => {
    const step = /^I: (Retrieving|Extracting|Unpacking|Configuring) (?!InRelease|Release|Packages)/.exec(line)?.[1]
    if (!step) return
    const count = (counts.get(step) ?? 0) + 1
    counts.set(step, count)
    log(`making the machines' root file system once: ${step.toLowerCase()} packages, ${count}; usually 1 minute in all`)
  }
}
