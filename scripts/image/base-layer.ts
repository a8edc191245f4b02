import { chmod, mkdir, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImageLayer } from '../../src/dev/machine/oci-image.ts'
import type { TarEntry } from '../../src/dev/machine/tar.ts'
import { run, runOk } from '../../src/host/index.ts'
import { cachedLayer, type LayerOptions } from './layer-cache.ts'

/**
 * The part of Debian that Node is linked against, and one program: `nsenter`, by which the agent runs commands of its
 * host. No shell, no package manager.
 */
const recipe = {
  suite: 'bookworm',
  packages: [
    ...['base-files', 'libc6', 'gcc-12-base', 'libgcc-s1', 'libstdc++6'],
    ...['util-linux', 'libselinux1', 'libpcre2-8-0'],
  ],
  /** Of a package that has many programs, the one that is needed. */
  only: { 'util-linux': /^usr\/bin\/nsenter$|\/copyright$/ },
  /** Character sets and languages of programs that are not there. */
  removed: [
    /^usr\/lib\/[^/]+\/gconv\//,
    /^usr\/share\/(?!doc\/[^/]+(\/copyright)?$)/,
    /^etc\/(?!os-release|debian_version)/,
  ],
  /** Made by scripts of packages, which never run here. */
  made: {
    'etc/passwd': 'root:x:0:0:root:/root:/sbin/nologin\nfettle:x:65532:65532:fettle:/:/sbin/nologin\n',
    'etc/group': 'root:x:0:\nfettle:x:65532:\n',
    'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  },
} as const

export async function baseLayer(options: LayerOptions): Promise<ImageLayer> {
  const key = { ...recipe, removed: recipe.removed.map(String), only: Object.values(recipe.only).map(String) }
  return cachedLayer('debian', key, options, async (scratch) => {
    const archives = await downloadPackages(join(scratch, 'download'), options)
    const entries: TarEntry[] = Object.entries(recipe.made).map(([path, text]) => file(path, Buffer.from(text)))
    for (const name of recipe.packages) {
      const archive = archives.find((path) => path.includes(`/${name}_`))
      if (archive === undefined) throw new Error(`debootstrap fetched no package ${name} for ${recipe.suite}`)
      const wanted: RegExp | undefined = (recipe.only as Record<string, RegExp>)[name]
      const unpacked = await unpack(archive, join(scratch, name))
      entries.push(...unpacked.filter(({ path }) => wanted?.test(path) ?? true))
      const { stdout } = await runOk(['dpkg-deb', '--field', archive])
      // Where scanners of images without a package manager look for what is inside.
      entries.push(file(`var/lib/dpkg/status.d/${name}`, Buffer.from(stdout)))
    }
    return [...entries, ...emptyFolders, ...mergedFolders]
  })
}

/** It finds a mirror, follows dependencies and checks signatures; only its last step would need root. */
async function downloadPackages(folder: string, options: LayerOptions): Promise<string[]> {
  let fetched = 0
  const made = await run(
    [
      ...['debootstrap', '--download-only', '--variant=minbase', `--arch=${options.architecture}`],
      ...[`--include=${recipe.packages.join(',')}`, recipe.suite, folder],
    ],
    {
      deadlineMs: 20 * 60_000,
      env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` },
      onLine: (line) => {
        if (line.startsWith('I: Retrieving ')) options.log(`fetching Debian packages once: ${++fetched} of about 90`)
      },
      ...(options.signal ? { signal: options.signal } : {}),
    },
  )
  if (made.code !== 0)
    throw new Error(
      `debootstrap could not fetch Debian packages; check the network.\n${made.stdout.trim().split('\n').slice(-5).join('\n')}`,
    )
  const archives = join(folder, 'var/cache/apt/archives')
  return (await readdir(archives)).map((name) => join(archives, name))
}

async function unpack(archive: string, folder: string): Promise<TarEntry[]> {
  await mkdir(folder)
  await runOk(['dpkg-deb', '--extract', archive, folder])
  await chmod(folder, 0o700)
  const entries: TarEntry[] = []
  for (const found of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const place = join(found.parentPath, found.name)
    const path = mergedPath(place.slice(folder.length + 1))
    if (found.isDirectory() || recipe.removed.some((pattern) => pattern.test(path))) continue
    if (found.isSymbolicLink()) entries.push({ kind: 'link', path, target: await readlink(place) })
    else if (found.isFile()) entries.push(file(path, await readFile(place), isProgram(path) ? 0o755 : 0o644))
  }
  return entries
}

/** Packages still say /lib; installed systems have it as a link to /usr/lib, and so has this one. */
function mergedPath(path: string): string {
  return /^(bin|sbin|lib|lib64)\//.test(path) ? `usr/${path}` : path
}

function isProgram(path: string): boolean {
  // The loader is started by the kernel like a program.
  return /^usr\/s?bin\/|\/ld-linux[^/]*\.so/.test(path)
}

function file(path: string, content: Buffer, mode = 0o644): TarEntry {
  return { kind: 'file', path, content, mode }
}

const mergedFolders: readonly TarEntry[] = ['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => [
  { kind: 'folder', path: `usr/${name}` },
  { kind: 'link', path: name, target: `usr/${name}` },
])

/** Places that the runtime mounts things on, in an image that is read-only. */
const emptyFolders: readonly TarEntry[] = [
  ...['dev', 'proc', 'sys', 'run', 'etc', 'var/run'].map((path) => ({ kind: 'folder' as const, path })),
  { kind: 'folder', path: 'tmp', mode: 0o1777 },
]
