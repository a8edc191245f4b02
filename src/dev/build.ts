import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { run, runOk } from '../host/index.ts'
import { DevFault } from './errors.ts'
import { withFolderLock } from './folder-lock.ts'
import { type Places, packageFolder } from './places.ts'

/** What can be compiled, from which Go module, and what a first build costs. */
const targets = {
  'control-plane': { module: '.', packages: ['./control-plane'], usually: '6 minutes' },
  node: { module: '.', packages: ['./node'], usually: '1 minute, after the control plane' },
  pause: { module: '.', packages: ['./pause'], usually: 'a few seconds' },
  containerd: {
    module: 'containerd',
    packages: ['containerd', 'containerd-shim-runc-v2', 'ctr'].map(
      (name) => `github.com/containerd/containerd/v2/cmd/${name}`,
    ),
    usually: '2 minutes',
  },
  helm: { module: 'helm', packages: ['helm.sh/helm/v3/cmd/helm'], usually: '2 minutes' },
} as const

export type BuildTarget = keyof typeof targets

export interface BuildProgress {
  readonly target: BuildTarget
  readonly done: number
  readonly total: number
  readonly usually: string
}

const minimumGo = [1, 26] as const
const neededFreeBytes = 5 * 1024 ** 3

/** Version stamped into the Kubernetes components: without it kubectl complains about a broken version. */
export function kubernetesVersion(moduleText: string): string {
  const version = /^\s*k8s\.io\/kubernetes (v\S+)$/m.exec(moduleText)?.[1]
  if (!version) throw new DevFault('cluster/go.mod names no version of k8s.io/kubernetes')
  return version
}

/** Returns the folder that holds the target's programs, building them first if no cached ones fit. */
export async function ensureBuilt(
  target: BuildTarget,
  where: Places,
  onProgress: (progress: BuildProgress) => void,
  signal?: AbortSignal,
): Promise<string> {
  const sources = join(packageFolder(), 'cluster')
  const folder = join(where.cache, 'programs', `${target}-${sourceHash(sources, target)}`)
  if (existsSync(folder)) return folder
  await mkdir(join(where.cache, 'programs'), { recursive: true })
  return withFolderLock(join(where.cache, 'programs', `${target}.lock`), signal, async () => {
    // Another process may have built it while this one waited.
    if (existsSync(folder)) return folder
    await assertCanBuild(where)
    // Nobody else builds this target now: what lies here half done is the rest of a crash.
    for (const name of readdirSync(join(where.cache, 'programs')))
      if (name.startsWith(`${target}-`) && name.includes('.part-'))
        await rm(join(where.cache, 'programs', name), { recursive: true, force: true })
    const scratch = await mkdtemp(`${folder}.part-`)
    try {
      await compile(target, sources, scratch, onProgress, signal)
      await rename(join(scratch, 'programs'), folder)
      return folder
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  })
}

/** Names what the programs are made of, so that an edit of ours or a new version gives a new place in the cache. */
export function sourceHash(sources: string, target: BuildTarget): string {
  const hash = createHash('sha256').update(`${target} ${process.arch}\n`)
  const module = join(sources, targets[target].module)
  const files = [join(module, 'go.mod'), join(module, 'go.sum')]
  for (const path of targets[target].packages) {
    if (!path.startsWith('./')) continue
    const folder = join(module, path)
    files.push(...readdirSync(folder).map((name) => join(folder, name)))
  }
  for (const file of files.filter((path) => statSync(path).isFile()).sort())
    hash.update(`${file.slice(sources.length)}\n`).update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}

async function assertCanBuild(where: Places): Promise<void> {
  const still = 'Commands that name a cluster of their own (--kubeconfig, --context) work without it.'
  const version = await run(['go', 'env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } }).catch(() => undefined)
  const found = /^go(\d+)\.(\d+)/.exec(version?.stdout.trim() ?? '')
  if (!found)
    throw new DevFault(
      `Go is missing: version ${minimumGo.join('.')} or newer builds the embedded control plane, once. ${still}`,
    )
  const [major, minor] = [Number(found[1]), Number(found[2])]
  if (major < minimumGo[0] || (major === minimumGo[0] && minor < minimumGo[1]))
    throw new DevFault(
      `Go ${major}.${minor} is too old: version ${minimumGo.join('.')} or newer builds the embedded control plane, once. ${still}`,
    )
  const disk = await statfs(where.cache)
  const free = disk.bavail * disk.bsize
  if (free < neededFreeBytes)
    throw new DevFault(
      `${where.cache} has ${(free / 1024 ** 3).toFixed(1)} GiB free, the first build needs ${neededFreeBytes / 1024 ** 3}: ` +
        `free some, or name another place by FETTLE_CACHE. ${still}`,
    )
}

async function compile(
  target: BuildTarget,
  sources: string,
  scratch: string,
  onProgress: (progress: BuildProgress) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { module, packages, usually } = targets[target]
  const cwd = join(sources, module)
  const env = {
    GOTOOLCHAIN: 'local',
    GOFLAGS: '-mod=readonly -buildvcs=false -trimpath',
    CGO_ENABLED: '0',
    GOWORK: 'off',
    // A compiler that is killed leaves its work behind; here it goes with the rest.
    GOTMPDIR: join(scratch, 'work'),
  }
  await mkdir(env.GOTMPDIR)
  const options = { cwd, env, deadlineMs: 40 * 60_000, ...(signal ? { signal } : {}) }
  onProgress({ target, done: 0, total: 0, usually })
  // Also downloads the modules; its line count is what there is to compile.
  const listed = await runOk(['go', 'list', '-deps', ...packages], options)
  const total = listed.stdout.split('\n').filter(Boolean).length
  let done = 0
  const version = kubernetesVersion(readFileSync(join(sources, 'go.mod'), 'utf8'))
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? []
  const stamp = Object.entries({ gitVersion: version, gitMajor: major, gitMinor: minor })
    .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    .join(' ')
  // Nobody debugs these: what a debugger would need costs a fourteenth of the time, and is stripped in the end.
  const lean = ['-gcflags', 'all=-dwarf=false', '-ldflags', `-s -w ${stamp}`]
  const built = await run(['go', 'build', '-v', ...lean, '-o', `${join(scratch, 'programs')}/`, ...packages], {
    ...options,
    onLine: (line) => {
      // -v prints one line for each package as it is compiled.
      if (/^[\w./-]+$/.test(line)) onProgress({ target, done: ++done, total, usually })
    },
  })
  if (built.code !== 0)
    throw new DevFault(`building ${target} failed:\n${built.stderr.trim().split('\n').slice(-15).join('\n')}`)
}
