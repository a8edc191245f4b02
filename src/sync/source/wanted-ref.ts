import { SourceFault } from './source-fault.ts'

export interface RefChoice {
  readonly branch?: string
  readonly tag?: string
  readonly commit?: string
}

/** Which commit is the truth. */
export type WantedRef =
  /** Whatever the repository shows first. */
  | { readonly is: 'head' }
  | { readonly is: 'branch' | 'tag'; readonly name: string; readonly ref: string }
  /** If a branch is named too, the commit has to be on it. */
  | { readonly is: 'commit'; readonly id: string; readonly branch?: string }

export function readRef({ branch, tag, commit }: RefChoice): WantedRef {
  if (tag !== undefined && (branch !== undefined || commit !== undefined))
    throw new SourceFault('Refused', 'A tag is named together with a branch or a commit. Name one of them.')
  if (branch !== undefined) checkName('branch', branch)
  if (commit !== undefined) {
    if (!isCommitId(commit))
      throw new SourceFault('Refused', 'A commit is pinned by its whole id: 40 (or 64) characters 0-9 and a-f.')
    return { is: 'commit', id: commit, ...(branch === undefined ? {} : { branch: `refs/heads/${branch}` }) }
  }
  if (branch !== undefined) return { is: 'branch', name: branch, ref: `refs/heads/${branch}` }
  if (tag === undefined) return { is: 'head' }
  checkName('tag', tag)
  return { is: 'tag', name: tag, ref: `refs/tags/${tag}` }
}

export function isCommitId(text: string): boolean {
  return /^([\da-f]{40}|[\da-f]{64})$/.test(text)
}

export function wantedText(wanted: WantedRef): string {
  if (wanted.is === 'head') return 'the default branch'
  return wanted.is === 'commit' ? `commit ${wanted.id.slice(0, 12)}` : `${wanted.is} ${wanted.name}`
}

/** The rules of git for names; whatever they forbid has a meaning of its own in a request to git. */
function checkName(what: 'branch' | 'tag', name: string): void {
  const isWrong =
    name.length > 200 ||
    name === '@' ||
    /[\p{Cc}\p{Z}~^:?*[\\]|\.\.|@\{|\/\//u.test(name) ||
    name.split('/').some((part) => part === '' || /^[.-]|\.$|\.lock$/.test(part))
  if (!isWrong) return
  const hint = name.startsWith('refs/') ? ' Leave refs/heads/ or refs/tags/ away.' : ''
  throw new SourceFault('Refused', `${JSON.stringify(name)} cannot be the name of a ${what}.${hint}`)
}
