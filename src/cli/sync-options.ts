import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { ConnectedClient } from '../kube/index.ts'
import {
  carefulDeletion,
  fenceOf,
  type GitSource,
  type Mode,
  namedKey,
  openSource,
  type Permits,
  type Policy,
  problemLine,
  type RunParts,
  readCatalog,
  type Survey,
  SyncRejected,
  type SyncSettings,
} from '../sync/index.ts'
import { systemClock } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { progressOn } from './progress.ts'

/** Which Sync a command is about; enough for what is remembered of it. */
export interface SyncNameFlags extends ClusterFlags {
  readonly name?: string
  readonly namespace: readonly string[]
}

export interface SyncFlags extends SyncNameFlags {
  readonly url: string
  readonly branch?: string
  readonly tag?: string
  readonly commit?: string
  readonly path?: string
  readonly mode: Mode
  readonly adoption: Policy['adoption']
  readonly adoptFrom?: readonly string[]
  readonly clusterKind?: readonly string[]
  readonly ignore?: readonly string[]
  readonly ignoreFile?: readonly string[]
  readonly conflicts: Policy['conflicts']
  /** Seconds, as are all times that people say. */
  readonly grace: number
  readonly pruneAfter: Policy['deletion']['pruneAfter']
  readonly maxDeletes: number
  readonly allowDataDeletion: boolean
  readonly allowEmpty: boolean
  readonly allowRewrite: boolean
  readonly allowDeletes?: number
  readonly approve?: string
  readonly confirm?: readonly string[]
  readonly timeout: number
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]

function namespacesOf(value: string, before?: readonly string[]): readonly string[] {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value))
    throw new InvalidArgumentError('a namespace has small letters, digits and - only.')
  return collect(value, before)
}

export function addSyncNameOptions(command: Command): Command {
  return addClusterOptions(command)
    .requiredOption('-n, --namespace <name>', 'namespace that the Sync may touch; may be said again', namespacesOf)
    .option('--name <name>', 'name of the Sync; the first namespace if not given')
}

export function addSyncOptions(command: Command): Command {
  return addSyncNameOptions(command)
    .requiredOption('--url <url>', 'repository: a path, file://, https:// or ssh')
    .option('--branch <name>', 'branch to follow; what the repository calls HEAD if nothing is said')
    .option('--tag <name>', 'tag to follow instead')
    .option('--commit <sha>', 'commit to stay at instead')
    .option('--path <folder>', 'folder of the repository that declares; all of it if not given')
    .addOption(
      new Option(
        '--mode <mode>',
        'observe: changes nothing; adopt: deletes only what it made; total: deletes strangers too',
      )
        .choices(['observe', 'adopt', 'total'])
        .default('adopt'),
    )
    .addOption(
      new Option('--adoption <rule>', 'what becomes of objects that are declared and there already')
        .choices(['always', 'ifUnowned', 'never'])
        .default('ifUnowned'),
    )
    .option('--adopt-from <program>', 'take over what this program manages; may be said again', collect)
    .option(
      '--cluster-kind <kind.group=pattern>',
      'kind of the whole cluster that may be declared; may be said again',
      collect,
    )
    .option(
      '--ignore <kind[.group][/name]>',
      'objects that nobody looks at, with * in names; may be said again',
      collect,
    )
    .option('--ignore-file <pattern>', 'files that declare nothing; may be said again', collect)
    .addOption(
      new Option('--conflicts <rule>', 'what to do about fields that somebody else manages')
        .choices(['fail', 'take'])
        .default('fail'),
    )
    .option(
      '--grace <seconds>',
      'how long strangers are shown before they are deleted',
      countOf,
      carefulDeletion.strangerGraceMs / 1_000,
    )
    .addOption(
      new Option('--prune-after <when>', 'when deletions may begin')
        .choices(['healthy', 'applied', 'immediately'])
        .default('healthy'),
    )
    .option(
      '--max-deletes <count>',
      'deletions in one plan that need no approval; never more than a fifth of the members',
      countOf,
      carefulDeletion.maxDeletes,
    )
    .option('--allow-data-deletion', 'PersistentVolumeClaims may be deleted too', false)
    .option('--allow-empty', 'git may declare nothing at all', false)
    .option('--allow-rewrite', 'the branch may have lost commits that were in force', false)
    .option('--allow-deletes <count>', 'this many deletions are meant, whatever the budget says', countOf)
    .option('--approve <hash>', 'the plan with this hash was looked at and is meant')
    .option('--confirm <uid>', 'the object with this UID may be deleted although it asks for a confirmation', collect)
    .option('--timeout <seconds>', 'how long to wait until all is healthy, and until all is gone', countOf, 600)
}

function countOf(value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('say a whole number.')
  return Number(value)
}

export function syncNameOf({ name, namespace }: SyncNameFlags): string {
  const said = name ?? namespace[0] ?? ''
  if (!/^[a-z0-9]([a-z0-9-]{0,200}[a-z0-9])?$/.test(said))
    throw new CliFault(`'${said}' cannot be the name of a Sync: small letters, digits and - only; say --name`)
  return said
}

/** Who speaks, in the User-Agent: the audit log of the server tells Syncs apart by it. */
export function componentOf(name: string): string {
  return `cli; sync ${name}`
}

function settingsOf(flags: SyncFlags, ignore: Policy['ignore'] = []): SyncSettings {
  return {
    policy: {
      name: syncNameOf(flags),
      namespaces: flags.namespace,
      mode: flags.mode,
      adoption: flags.adoption,
      adoptFrom: flags.adoptFrom ?? [],
      clusterKinds: (flags.clusterKind ?? []).map(clusterKindOf),
      ignore,
      conflicts: flags.conflicts,
      deletion: {
        ...carefulDeletion,
        strangerGraceMs: flags.grace * 1_000,
        pruneAfter: flags.pruneAfter,
        maxDeletes: flags.maxDeletes,
        allowDataDeletion: flags.allowDataDeletion,
        allowEmpty: flags.allowEmpty,
      },
    },
    path: (flags.path ?? '').replace(/^\/+|\/+$/g, ''),
    namespaceRule: 'fill',
    ignoreFiles: flags.ignoreFile ?? [],
    allowRewrite: flags.allowRewrite,
    healthTimeoutMs: flags.timeout * 1_000,
    deleteTimeoutMs: flags.timeout * 1_000,
  }
}

function clusterKindOf(said: string) {
  const [what = '', names = '*'] = said.split('=')
  return { ...kindOf(what), names }
}

/** A rule that fits nothing by a slip would let go what it should hold, so the server has to know its kind. */
export function ignoreRuleOf(said: string, catalog: Pick<Survey['catalog'], 'kinds'>): Policy['ignore'][number] {
  const [what = '', name] = said.split('/')
  const key = namedKey(`${what}/${name ?? '*'}`, '', catalog)
  if ('problem' in key) throw new CliFault(`--ignore ${said}: ${key.problem}`)
  const { group, kind } = key
  return { group, kind, ...(name === undefined ? {} : { name }) }
}

async function ignoreRules({ ignore = [] }: SyncFlags, client: ConnectedClient, signal: AbortSignal) {
  if (ignore.length === 0) return []
  const catalog = await readCatalog(client, signal)
  return ignore.map((said) => ignoreRuleOf(said, catalog))
}

function kindOf(text: string): { readonly kind: string; readonly group: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { kind: text, group: '' } : { kind: text.slice(0, dot), group: text.slice(dot + 1) }
}

function permitsOf({ allowDeletes, approve, confirm = [] }: SyncFlags): Permits {
  return {
    confirmed: confirm,
    ...(allowDeletes === undefined ? {} : { allowDeletes }),
    ...(approve === undefined ? {} : { approve }),
  }
}

export type SyncParts = Omit<RunParts, 'mayCarryOut'> & { readonly client: ConnectedClient }

/** Opens repository and cluster, and closes both. */
export async function withSync<T>(
  flags: SyncFlags,
  context: CliContext,
  work: (parts: SyncParts) => Promise<T>,
): Promise<T> {
  const fence = fenceOf(settingsOf(flags).policy)
  const progress = progressOn(context.progress, context.nowMs)
  let source: GitSource | undefined
  try {
    source = await openSource({
      url: flags.url,
      ref: {
        ...(flags.branch === undefined ? {} : { branch: flags.branch }),
        ...(flags.tag === undefined ? {} : { tag: flags.tag }),
        ...(flags.commit === undefined ? {} : { commit: flags.commit }),
      },
      cacheFolder: mirrorFolder(process.env),
      signal: context.signal,
    })
    const opened = source
    return await withCluster(
      flags,
      async (client) =>
        work({
          client,
          clock: systemClock,
          source: opened,
          settings: settingsOf(flags, await ignoreRules(flags, client, context.signal)),
          permits: permitsOf(flags),
          version: manifest.version,
          report: (line) => progress.update(line),
          strain: () => client.counters().retries,
        }),
      { guard: fence, component: componentOf(syncNameOf(flags)) },
    )
  } catch (error) {
    throw error instanceof SyncRejected ? new CliFault(rejectionText(error)) : error
  } finally {
    progress.clear()
    source?.close()
  }
}

/** Each problem with its file and line. */
export function rejectionText({ message, problems }: SyncRejected): string {
  return [...problems.map(problemLine), `${message.replace(/\.$/, '')}. Nothing was changed.`].join('\n')
}

/** Mirrors of repositories that are not on this machine. */
function mirrorFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fettle', 'git')
}
