import { type Clock, systemClock } from '../../time/index.ts'
import type { Commit } from './commit.ts'
import { findFolder, readFiles, type SourceFile } from './commit-files.ts'
import { runGit } from './git.ts'
import { commitsBetween, isAncestor } from './history.ts'
import { findRepository } from './local-repository.ts'
import { readLocation } from './location.ts'
import { openMirror } from './mirror.ts'
import { type ObjectStore, openStore, type StoredCommit } from './object-store.ts'
import { failed, gone, localOrigin, type Origin, remoteOrigin, type Seen } from './origin.ts'
import { lastWords, SourceFault } from './source-fault.ts'
import { isCommitId, type RefChoice, readRef, type WantedRef, wantedText } from './wanted-ref.ts'

export { type Commit, SourceFault, type SourceFile }

export interface SourceOptions {
  readonly url: string
  /** The default branch, if nothing is named. */
  readonly ref: RefChoice
  /** Mirrors live here. */
  readonly cacheFolder: string
  /** Closes the source. */
  readonly signal: AbortSignal
  /** How often a remote repository is asked; default 15 s. */
  readonly pollMs?: number
  readonly clock?: Clock
}

/** A repository and the ref in it that is the truth. */
export interface GitSource {
  /** Its address without a login; nothing for a folder of this machine. */
  readonly remote?: string
  /** Brings the mirror up to date; the newest commit of the ref. */
  fetch(signal: AbortSignal): Promise<Commit>
  /**
   * All regular files below the path, sorted. Throws a SourceFault when the path is not there, and for symlinks,
   * submodules, pointers to large files in place of manifests, hostile names, too many files or too large ones.
   */
  files(sha: string, path: string, signal: AbortSignal): Promise<readonly SourceFile[]>
  /** Same id, same files; undefined when there is no such folder. */
  treeId(sha: string, path: string, signal: AbortSignal): Promise<string | undefined>
  /** First-parent commits after `from` up to `to`, oldest first; 'rewritten' when `from` is no ancestor. */
  commitsBetween(from: string, to: string, signal: AbortSignal): Promise<readonly Commit[] | 'rewritten'>
  /**
   * Resolves when there is something that the last `fetch` did not see, or, before the first one, something else than
   * `lastSha`. So a branch that is gone, or history that was rewritten, is told once. Rejects when the signal says so.
   */
  untilMoved(lastSha: string, signal: AbortSignal): Promise<void>
  close(): void
}

export async function openSource(options: SourceOptions): Promise<GitSource> {
  options.signal.throwIfAborted()
  const wanted = readRef(options.ref)
  const origin = await originOf(options, wanted)
  return sourceOf(origin, wanted, options.signal)
}

async function originOf(options: SourceOptions, wanted: WantedRef): Promise<Origin> {
  const { url, cacheFolder, clock = systemClock, pollMs = 15_000 } = options
  const location = readLocation(url)
  if (location.is === 'local') {
    const repository = await findRepository(location.path)
    return localOrigin({ repository, path: location.path, wanted, clock })
  }
  const { shown, protocol } = location
  const mirror = openMirror({ url, shown, protocols: [protocol], wanted, cacheFolder, clock })
  return remoteOrigin({ mirror, shown, wanted, clock, pollMs })
}

function sourceOf(origin: Origin, wanted: WantedRef, lifetime: AbortSignal): GitSource {
  const { gitDir, shown, tipName } = origin
  const rebuild = origin.rebuild && ((signal: AbortSignal) => origin.rebuild?.(signal) ?? Promise.resolve())
  const store = openStore({ gitDir, shown, rebuild })
  let seen: Seen | undefined
  const close = () => {
    lifetime.removeEventListener('abort', close)
    store.close()
  }
  lifetime.addEventListener('abort', close, { once: true })
  return {
    ...(origin.rebuild ? { remote: shown } : {}),
    fetch: async (signal) => {
      try {
        await origin.update(signal)
        const { parents: _, ...commit } = await tipOf(origin, wanted, store, signal)
        seen = commit.sha
        return commit
      } catch (fault) {
        seen = fault instanceof SourceFault && fault.code === 'RefGone' ? gone : failed
        throw fault
      }
    },
    files: (sha, path, signal) => store.withRepairs(signal, () => readFiles(checked(sha), path, store.read)),
    treeId: async (sha, path, signal) =>
      (await store.withRepairs(signal, () => findFolder(checked(sha), path, store.read)))?.id,
    commitsBetween: (from, to, signal) =>
      store.withRepairs(signal, () => commitsBetween(store, checked(from), checked(to), signal)),
    untilMoved: async (lastSha, signal) => {
      const look = () =>
        store.commitAt(tipName).then(
          (commit): Seen => commit?.sha ?? gone,
          () => failed,
        )
      await origin.untilMoved(seen ?? lastSha, look, signal)
    },
    close,
  }
}

async function tipOf(
  origin: Origin,
  wanted: WantedRef,
  store: ObjectStore,
  signal: AbortSignal,
): Promise<StoredCommit> {
  const commit = await store.withRepairs(signal, async () => {
    const found = await store.commitAt(origin.tipName)
    if (found) return found
    store.startAfresh()
    const again = await store.commitAt(origin.tipName)
    // A mirror was brought up to date a moment ago: it has the ref, unless it lost what the ref names.
    if (!again && origin.rebuild && wanted.is !== 'commit')
      throw new SourceFault('Damaged', `The mirror of ${origin.shown} does not hold what was fetched.`)
    return again
  })
  if (!commit) throw new SourceFault('RefGone', await goneText(origin, wanted, signal))
  if (origin.branchName && !(await isAncestor(store, commit.sha, origin.branchName, signal)))
    throw new SourceFault('RefGone', `Commit ${commit.sha} is not on the branch named with it, in ${origin.shown}.`)
  return commit
}

/** It is put into requests to git: nothing but an id may be. */
function checked(sha: string): string {
  if (!isCommitId(sha)) throw new SourceFault('Refused', `${JSON.stringify(sha)} is not the id of a commit.`)
  return sha
}

/** With the names that there are: most often one is misspelt. */
async function goneText({ gitDir, shown }: Origin, wanted: WantedRef, signal: AbortSignal): Promise<string> {
  const what = `There is no ${wantedText(wanted)} in ${shown}`
  if (wanted.is === 'commit') return `${what}. Push it, or name another one.`
  const kind = wanted.is === 'tag' ? 'tags' : 'heads'
  const args = ['for-each-ref', '--count=5', '--format=%(refname:strip=2)', `refs/${kind}`]
  const { stdout } = await runGit(args, { gitDir }, { signal })
  const others = stdout.split('\n').filter(Boolean)
  return others.length === 0
    ? `${what}: it has no ${wanted.is === 'tag' ? 'tag' : 'commit'} yet. Push the first one.`
    : `${what}. It has ${others.map((name) => lastWords(name)).join(', ')}. Name one of them.`
}
