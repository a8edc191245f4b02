import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DevFault } from './errors.ts'

/** Where things lie on disk. Everything about one cluster is in one folder; what can be built again is in the cache. */
export interface Places {
  readonly home: string
  readonly cache: string
}

/** An empty variable counts as absent. Paths are absolute: components run in another folder than the command. */
export function places(env: Readonly<Record<string, string | undefined>> = process.env): Places {
  const state = env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state')
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return {
    home: resolve(env['FETTLE_HOME'] || join(state, 'fettle')),
    cache: resolve(env['FETTLE_CACHE'] || join(cache, 'fettle')),
  }
}

const clusterName = /^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$/

export function clusterFolder(name: string, where: Places = places()): string {
  if (!clusterName.test(name))
    throw new DevFault(`'${name}' is not a cluster name: use lower-case letters, digits and dashes, at most 30`)
  return join(where.home, 'clusters', name)
}

export function clusterNames(where: Places = places()): string[] {
  const folder = join(where.home, 'clusters')
  if (!existsSync(folder)) return []
  // What someone else put there is no cluster, and must not keep the real ones from being listed.
  return readdirSync(folder)
    .filter((name) => clusterName.test(name))
    .sort()
}

/** The folder of this package: sources in a checkout, the bundle and `cluster/` when installed. */
export function packageFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'fettle') return folder
  }
  throw new DevFault('the folder of the fettle package was not found; install it again')
}
