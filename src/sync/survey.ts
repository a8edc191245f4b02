import { randomBytes } from 'node:crypto'
import type { KubeClient } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import { compareWithReference } from './apply/projection.ts'
import type { DeclaredObject, DeclaredSet, RenderProblem } from './declared.ts'
import { setIdOf } from './inventory/apply-set.ts'
import type { InventoryStore } from './inventory/store.ts'
import type { Inventory } from './inventory-record.ts'
import { type Key, keyId } from './key.ts'
import { type KnownCatalog, readCatalog } from './observe/catalog.ts'
import { withLateKinds } from './observe/late-kinds.ts'
import { alwaysLooked, type KindName } from './observe/looks.ts'
import { observe } from './observe/observe.ts'
import type { Observation, ObservedObject } from './observed.ts'
import { contentDigest } from './plan/hash.ts'
import { planSync } from './plan/plan-sync.ts'
import { isInScope } from './plan/scope.ts'
import type { Difference, Plan } from './plan/steps.ts'
import { managerOf, type Permits, type Policy } from './policy.ts'
import { render } from './render/render.ts'
import { type Commit, type GitSource, SourceFault, type SourceFile } from './source/open-source.ts'

export interface SyncSettings {
  readonly policy: Policy
  /** Below it lies what is declared; empty for the whole tree. */
  readonly path: string
  readonly namespaceRule: 'fill' | 'force' | 'verify'
  /** Files that declare nothing, as patterns. */
  readonly ignoreFiles: readonly string[]
  /** The branch may have lost commits that were in force. */
  readonly allowRewrite?: boolean
  readonly healthTimeoutMs: number
  readonly deleteTimeoutMs: number
}

export interface SyncPorts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly source: GitSource
  readonly store: InventoryStore
  /** Hears what is under way. */
  readonly report: (line: string) => void
  /** How often the server has asked for patience so far. */
  readonly strain?: () => number
  /** Aborts when git has moved on: nobody needs to wait for the health of this commit any more. */
  readonly superseded?: AbortSignal
}

export interface Memory {
  readonly inventory: Inventory
  readonly hashKey: Buffer
  readonly setId: string
  /** Nothing was ever stored. */
  readonly isNew: boolean
}

/** All that a plan was made from. */
export interface Survey {
  readonly tip: Commit
  /** Commits since the one that is in force, the tip last. */
  readonly commits: readonly Commit[]
  readonly set: DeclaredSet
  readonly catalog: KnownCatalog
  readonly observed: Observation
  readonly memory: Memory
  readonly plan: Plan
}

/** The commit cannot be put in force, whatever the cluster is like. Nothing was changed. */
export class SyncRejected extends Error {
  readonly code = 'SyncRejected'
  readonly problems: readonly RenderProblem[]
  /** Nothing if it is not about a commit. */
  readonly judged: Judged | undefined

  constructor(message: string, problems: readonly RenderProblem[] = [], judged?: Judged, options?: ErrorOptions) {
    super(message, options)
    this.problems = problems
    this.judged = judged
  }
}

/** The commits that a rejection is about, and where it is to be remembered. */
export interface Judged {
  readonly memory: Memory
  readonly commits: readonly Commit[]
}

const nothingKnown: Inventory = { members: [], strangers: {}, verdicts: [], approvals: [], deletions: [] }

export async function remembered(
  store: InventoryStore,
  policy: Pick<Policy, 'name' | 'namespaces'>,
  signal: AbortSignal,
): Promise<Memory> {
  const stored = await store.load(signal)
  if (stored) return { ...stored, isNew: false }
  const parent = {
    name: managerOf(policy.name),
    namespace: policy.namespaces[0] ?? '',
    kind: 'Secret',
    group: '',
  } as const
  return { inventory: nothingKnown, hashKey: randomBytes(32), setId: setIdOf(parent), isNew: true }
}

/** Reads git and the cluster, and decides what is to be done. Changes nothing. */
export async function survey(
  { client, clock, source, store, report }: SyncPorts,
  settings: SyncSettings,
  permits: Permits,
  signal: AbortSignal,
): Promise<Survey> {
  const { policy, path } = settings
  report('reading git and the cluster')
  const [offered, memory, { tip, files }] = await Promise.all([
    readCatalog(client, signal),
    remembered(store, policy, signal),
    source.fetch(signal).then(async (tip) => ({ tip, files: await filesOf(source, tip, path, signal) })),
  ])
  const { inventory, hashKey, setId } = memory
  const catalog = await withLateKinds(client, clock, offered, inventory.members.map(kindNameOf), signal)
  const commits = await commitsSince(source, memory, tip, settings, signal)
  if (files instanceof SourceFault) throw new SyncRejected(files.message, [], { memory, commits }, { cause: files })
  const set = declaredBy(files, catalog, settings, { memory, commits }, source.remote)
  const observed = await observe(client, catalog, scopeOf(set, inventory, policy), signal)
  const members = new Map(inventory.members.map((member) => [keyId(member.key), member]))
  const plan = planSync({
    declared: set.objects,
    observed,
    inventory,
    policy,
    permits,
    setId,
    revision: tip.sha,
    digest: set.digest,
    trailers: Object.assign({}, ...commits.map(({ trailers }) => trailers)) as Record<string, string>,
    nowMs: clock.now(),
    ...(memory.isNew ? {} : { hashKey }),
    compare: (declared: DeclaredObject, live: ObservedObject): Difference =>
      compareWithReference(declared, members.get(keyId(declared.key)), live, managerOf(policy.name), hashKey),
  })
  return { tip, commits, set, catalog, observed, memory, plan }
}

/** A commit that is bad as a tree of files has its verdict, too; what says nothing about it is thrown. */
async function filesOf(
  source: GitSource,
  { sha }: Commit,
  path: string,
  signal: AbortSignal,
): Promise<readonly SourceFile[] | SourceFault> {
  try {
    return await source.files(sha, path, signal)
  } catch (error) {
    if (error instanceof SourceFault && error.isOfCommit) return error
    throw error
  }
}

async function commitsSince(
  source: GitSource,
  memory: Memory,
  tip: Commit,
  { allowRewrite = false }: SyncSettings,
  signal: AbortSignal,
): Promise<readonly Commit[]> {
  const from = memory.inventory.revision
  if (from === undefined) return [tip]
  if (from === tip.sha) return []
  const commits = await source.commitsBetween(from, tip.sha, signal)
  if (commits !== 'rewritten') return commits
  if (allowRewrite) return [tip]
  throw new SyncRejected(
    `history was rewritten: ${from.slice(0, 12)}, which is in force, is no ancestor of ${tip.sha.slice(0, 12)}; ` +
      'look at both, and allow it with --allow-rewrite',
    [],
    { memory, commits: [tip] },
  )
}

function declaredBy(
  files: readonly SourceFile[],
  catalog: KnownCatalog,
  { policy, path, namespaceRule, ignoreFiles }: SyncSettings,
  judged: Judged,
  url = '',
): DeclaredSet {
  const rendered = render(files, {
    root: path,
    namespaces: policy.namespaces,
    clusterKinds: policy.clusterKinds,
    namespaceRule,
    ignore: ignoreFiles,
    scopeOf: (apiVersion, kind) => {
      const served = servedAs(catalog, apiVersion, kind)
      return served && (served.namespaced ? 'Namespaced' : 'Cluster')
    },
  })
  if ('set' in rendered) {
    const { objects, digest } = rendered.set
    const reading = { url, path, ignoreFiles, namespaceRule, namespaces: policy.namespaces }
    return { objects, digest: contentDigest(digest, reading) }
  }
  const count = rendered.problems.length
  throw new SyncRejected(
    `git declares what cannot be put in force: ${count} problem${count === 1 ? '' : 's'}`,
    rendered.problems,
    judged,
  )
}

export function servedAs(catalog: KnownCatalog, apiVersion: string, kind: string) {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return catalog.versionsOf(group ?? '', kind).find(({ resource }) => resource.version === version)?.resource
}

function kindNameOf({ apiVersion, key }: { readonly apiVersion: string; readonly key: Key }): KindName {
  return { apiVersion, kind: key.kind }
}

/** Members are known by their kinds; who wants to know of strangers has to look everywhere. */
function scopeOf(set: DeclaredSet, { members }: Inventory, policy: Policy): Parameters<typeof observe>[2] {
  const { namespaces, mode } = policy
  const kinds = new Map<string, KindName>()
  for (const one of [...members, ...set.objects]) kinds.set(`${one.apiVersion} ${one.key.kind}`, kindNameOf(one))
  const looks = [...kinds.values(), ...alwaysLooked]
  const secrets = set.objects.filter(({ key }) => key.kind === 'Secret' && key.group === '')
  const namespaceObjects = [...members, ...set.objects]
    .map(({ key }) => key)
    .filter((key) => key.kind === 'Namespace' && key.group === '' && isInScope(key, policy))
    .map(({ name }) => name)
  return {
    namespaces,
    namespaceObjects,
    needed: [...new Map(set.objects.map((one) => [`${one.apiVersion} ${one.key.kind}`, kindNameOf(one)])).values()],
    kinds: mode === 'adopt' ? looks : 'all',
    full: looks,
    declaredSecrets: new Set([...secrets, ...members].map(({ key }) => keyId(key))),
  }
}
