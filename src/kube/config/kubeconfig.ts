import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { type Clock, systemClock } from '../../time/index.ts'
import { ConfigError } from '../errors.ts'
import type { ClusterConfig } from './config.ts'
import { clusterSettings, impersonationOf, userCredentials } from './kubeconfig-entries.ts'
import { type Entry, entryError, type KubeconfigFile, parseKubeconfig, readString } from './kubeconfig-file.ts'

export interface KubeconfigOptions {
  /** One file, which must exist. Default: the files of KUBECONFIG, else ~/.kube/config. */
  readonly path?: string
  /** Default: current-context. */
  readonly context?: string
  readonly env?: NodeJS.ProcessEnv
  /** Whether a credential plugin may use the terminal. Default false. */
  readonly interactive?: boolean
  readonly clock?: Clock
}

/** Reads the kubeconfig files and resolves one context of them. */
export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env
  const paths = kubeconfigPaths(options.path, env)
  const files: KubeconfigFile[] = []
  for (const path of paths) {
    const text = await readIfThere(path, options.path !== undefined)
    if (text !== undefined) files.push(await parseKubeconfig(text, path))
  }
  if (files.length === 0) {
    throw new ConfigError(
      'NoConfig',
      `none of these kubeconfig files exists: ${paths.join(', ')}; create one or set KUBECONFIG`,
    )
  }
  return resolveContext(mergeKubeconfigs(files), options)
}

/** The files to read, in order of precedence. */
export function kubeconfigPaths(explicit: string | undefined, env: NodeJS.ProcessEnv): readonly string[] {
  if (explicit !== undefined) return [resolve(explicit)]
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return [...new Set(listed.map((path) => resolve(path)))]
  return [join(env['HOME'] ?? homedir(), '.kube', 'config')]
}

/** As kubectl merges: the first file to name something wins, whole; nothing is mixed within one entry. */
export function mergeKubeconfigs(files: readonly KubeconfigFile[]): KubeconfigFile {
  const clusters = new Map<string, Entry>()
  const contexts = new Map<string, Entry>()
  const users = new Map<string, Entry>()
  let currentContext: string | undefined
  for (const file of files) {
    currentContext ??= file.currentContext
    for (const [from, into] of [
      [file.clusters, clusters],
      [file.contexts, contexts],
      [file.users, users],
    ] as const) {
      for (const [name, entry] of from) if (!into.has(name)) into.set(name, entry)
    }
  }
  const file = files.map((one) => one.file).join(delimiter)
  return { file, clusters, contexts, users, ...(currentContext === undefined ? {} : { currentContext }) }
}

function resolveContext(merged: KubeconfigFile, options: KubeconfigOptions): ClusterConfig {
  const clock = options.clock ?? systemClock
  const name = options.context ?? merged.currentContext
  const known = [...merged.contexts.keys()].sort()
  const choices =
    known.length === 0 ? 'the file has no contexts' : `it has ${known.map((one) => `"${one}"`).join(', ')}`
  if (name === undefined) {
    throw new ConfigError('BadConfig', `current-context is not set and no context was named; ${choices}`, {
      file: merged.file,
    })
  }
  const context = merged.contexts.get(name)
  if (!context) throw new ConfigError('BadConfig', `there is no context "${name}"; ${choices}`, { file: merged.file })

  const cluster = lookUp(merged.clusters, context, 'cluster')
  if (!cluster) throw entryError(context, 'it names no cluster; write cluster: and the name of one')
  const user = lookUp(merged.users, context, 'user')
  const settings = clusterSettings(cluster, clock)
  const impersonate = user ? impersonationOf(user) : undefined
  return {
    server: settings.server,
    tls: settings.tls,
    credentials: userCredentials(user, {
      cluster,
      server: settings.server,
      clock,
      env: options.env ?? process.env,
      isInteractive: options.interactive === true && process.stdin.isTTY === true,
    }),
    ...(impersonate ? { impersonate } : {}),
    namespace: readString(context, 'namespace') ?? 'default',
    source: `context "${name}" of ${context.file}`,
  }
}

function lookUp(entries: ReadonlyMap<string, Entry>, context: Entry, key: 'cluster' | 'user'): Entry | undefined {
  const name = readString(context, key)
  if (name === undefined) return undefined
  const entry = entries.get(name)
  if (entry) return entry
  const known = [...entries.keys()].sort().map((one) => `"${one}"`)
  const choices = known.length === 0 ? 'none is defined' : `defined are ${known.join(', ')}`
  throw entryError(context, `${key} "${name}" is not defined; ${choices}`, key)
}

async function readIfThere(path: string, mustExist: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !mustExist) return undefined
    const seen = code === 'ENOENT' ? 'the file does not exist' : `the file cannot be read (${code})`
    throw new ConfigError(code === 'ENOENT' ? 'NoConfig' : 'BadConfig', seen, { file: path, cause })
  }
}
