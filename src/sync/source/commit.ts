import { printable } from './printable.ts'
import { SourceFault } from './source-fault.ts'

export interface Commit {
  readonly sha: string
  /** `Name <address>`. */
  readonly author: string
  /** When it was committed. */
  readonly at: string
  readonly subject: string
  /** As written in the last paragraph of the message; the values of one that is repeated are on lines of their own. */
  readonly trailers: Readonly<Record<string, string>>
}

/** A commit as git stores it. Read by ourselves: the commands that print commits obey the repository's own settings. */
export function readCommit(sha: string, bytes: Buffer): Commit & { readonly parents: readonly string[] } {
  const text = decoded(bytes)
  const end = text.indexOf('\n\n')
  const header = end < 0 ? text : text.slice(0, end)
  const valuesOf = (name: string) =>
    header.split('\n').flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []))
  const [author] = valuesOf('author')
  const [committer] = valuesOf('committer')
  if (author === undefined || committer === undefined)
    throw new SourceFault('Damaged', `Commit ${sha} names no author or committer. Look at it with git fsck.`)
  const message = end < 0 ? '' : text.slice(end + 2)
  return {
    sha,
    author: printable(author.replace(/ -?\d+ [+-]?\d+$/, '')).trim(),
    at: timeOf(committer),
    subject: printable(paragraphsOf(message)[0] ?? '').trim(),
    trailers: trailersOf(message),
    parents: valuesOf('parent'),
  }
}

function decoded(bytes: Buffer): string {
  const encoding = /^encoding (.*)$/m.exec(bytes.subarray(0, 4096).toString('latin1').split('\n\n')[0] ?? '')?.[1]
  try {
    return new TextDecoder(encoding ?? 'utf-8').decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}

/** Anybody can write any number into a commit. */
function timeOf(committer: string): string {
  const seconds = Number(/ (-?\d+) [+-]?\d+$/.exec(committer)?.[1] ?? 0)
  return new Date(Math.abs(seconds) > 8.64e12 ? 0 : seconds * 1000).toISOString()
}

function paragraphsOf(message: string): string[] {
  return message
    .replaceAll('\r\n', '\n')
    .split(/\n(?:[ \t]*\n)+/)
    .map((paragraph) => paragraph.replace(/^\n+|\s+$/g, ''))
    .filter((paragraph) => paragraph !== '')
}

/**
 * Stricter than git, which takes a paragraph of which a quarter looks right: a trailer may allow deletions, and prose
 * must not.
 */
function trailersOf(message: string): Record<string, string> {
  const paragraphs = paragraphsOf(message)
  const last = paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : ''
  const found = new Map<string, string>()
  for (const line of last.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    if (/^\(cherry picked from commit [\da-f]+\)$/.test(line)) continue
    const [, name, value = ''] = /^([A-Za-z\d][A-Za-z\d-]*)[ \t]*:(.*)$/.exec(line) ?? []
    if (name === undefined) return {}
    const before = found.get(name)
    found.set(name, `${before === undefined ? '' : `${before}\n`}${printable(value).trim()}`)
  }
  return Object.fromEntries(found)
}
