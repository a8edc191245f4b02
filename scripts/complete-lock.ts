import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Run after `npm install` has changed the lock file. Tools that ship a binary per platform name all of them as optional
 * packages. A registry that mirrors only some leaves the others out of the lock file, and `npm ci` then refuses it,
 * although it would never have installed them. Each gets an entry here: enough to know that it is not for this platform.
 */
interface LockedPackage {
  readonly version?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly dev?: boolean
}

const path = 'package-lock.json'
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, LockedPackage> }
const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
  'wasm32',
]
const processors: Readonly<Record<string, string>> = { armv7: 'arm', arm: 'arm', x64: 'x64', ia32: 'ia32' }

let added = 0
for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(lock.packages))
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const isLocked = [`node_modules/${name}`, `${parent}/node_modules/${name}`].some((place) => lock.packages[place])
    const words = name.split(/[/-]/)
    const system = systems.find((one) => words.includes(one))
    if (isLocked || !system || !/^\d/.test(version)) continue
    const cpu = words
      .map((word) => processors[word] ?? word)
      .find((word) =>
        ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32'].includes(word),
      )
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(dev ? { dev } : {}),
      optional: true,
      ...(system === 'wasm32' ? {} : { os: [system] }),
      ...(cpu ? { cpu: [cpu] } : {}),
      ...(words.includes('musl') || words.includes('musleabihf') ? { libc: ['musl'] } : {}),
    } as LockedPackage
    added++
  }

const sorted = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(path, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`)
console.log(`${added} packages for other platforms added`)
