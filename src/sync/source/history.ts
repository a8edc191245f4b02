import type { Commit } from './commit.ts'
import { runGit } from './git.ts'
import type { ObjectStore } from './object-store.ts'
import { lastWords, SourceFault } from './source-fault.ts'

/** First-parent commits after `from` up to `to`, oldest first; 'rewritten' when `from` is no ancestor. */
export async function commitsBetween(
  store: ObjectStore,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<readonly Commit[] | 'rewritten'> {
  if (from === to) return []
  const tip = await store.commitAt(to)
  if (!tip) throw new SourceFault('RefGone', `Commit ${to} is not in ${store.shown} any more. Fetch again.`)
  // The most frequent case by far costs no process.
  const ids = tip.parents[0] === from ? [to] : await idsBetween(store, from, to, signal)
  if (ids === 'rewritten') return ids
  const commits = await Promise.all(ids.map((id) => store.commitAt(id)))
  return commits.map((commit) => {
    if (!commit) throw new SourceFault('Damaged', `A commit between ${from} and ${to} is missing in ${store.shown}.`)
    const { parents: _, ...rest } = commit
    return rest
  })
}

async function idsBetween(store: ObjectStore, from: string, to: string, signal: AbortSignal) {
  // Nothing holds on to a commit that a rewritten branch left behind.
  if (!(await store.commitAt(from)) || !(await isAncestor(store, from, to, signal))) return 'rewritten'
  const { stdout } = await ask(store, ['rev-list', '--first-parent', '--reverse', to, `^${from}`], [0], signal)
  return stdout.split('\n').filter(Boolean)
}

export async function isAncestor(store: ObjectStore, ancestor: string, of: string, signal: AbortSignal) {
  const { code } = await ask(store, ['merge-base', '--is-ancestor', ancestor, of], [0, 1], signal)
  return code === 0
}

async function ask(store: ObjectStore, args: readonly string[], fine: readonly number[], signal: AbortSignal) {
  const result = await runGit(args, { gitDir: store.gitDir }, { signal })
  if (fine.includes(result.code)) return result
  throw new SourceFault('Damaged', `The history of ${store.shown} cannot be read: ${lastWords(result.stderr)}.`)
}
