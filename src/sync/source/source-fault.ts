import { printable } from './printable.ts'

export type SourceFaultCode =
  /** No repository at that place. */
  | 'NotThere'
  /** The branch, tag or commit is not in the repository. */
  | 'RefGone'
  | 'PathMissing'
  | 'Unreachable'
  /** The server wants to know who asks. */
  | 'Denied'
  /** What was asked for is not allowed or has no meaning: another value is needed. */
  | 'Refused'
  | 'Damaged'
  | 'NoGit'
  | 'TimedOut'
  /** Another process holds the mirror. */
  | 'Busy'
  | 'Symlink'
  | 'Submodule'
  | 'LargeFilePointer'
  | 'HostileName'
  | 'TooLarge'

const transientCodes: readonly SourceFaultCode[] = ['Unreachable', 'TimedOut', 'Busy']

/** The next one may be better; this one stays what it is. */
const commitCodes: readonly SourceFaultCode[] = [
  'PathMissing',
  'Symlink',
  'Submodule',
  'LargeFilePointer',
  'HostileName',
  'TooLarge',
]

/** The repository could not be read. Nothing is known then: it is never taken for an empty one. */
export class SourceFault extends Error {
  readonly code: SourceFaultCode
  /** In the repository, where the fault lies at one. */
  readonly path?: string

  constructor(code: SourceFaultCode, message: string, { path, cause }: { path?: string; cause?: unknown } = {}) {
    super(withoutUserinfo(message), cause === undefined ? {} : { cause })
    this.name = 'SourceFault'
    this.code = code
    if (path !== undefined) this.path = path
  }

  /** Asking again later may help, with the same repository and the same settings. */
  get isTransient(): boolean {
    return transientCodes.includes(this.code)
  }

  /** The repository is sound, and the commit is at fault. */
  get isOfCommit(): boolean {
    return commitCodes.includes(this.code)
  }
}

/** Who logs in, and with what, is nobody's business in a message. */
export function withoutUserinfo(text: string): string {
  return text.replaceAll(/:\/\/[^\s/]*@/g, '://')
}

/** The last words of git. A server chooses some of them: nothing in them may steer a terminal. */
export function lastWords(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).map((line) => printable(line).trim())
  return withoutUserinfo(lines.filter(Boolean).slice(-4).join('; ')).slice(-600)
}

/** Of what git says about another machine. */
export type RemoteFaultCode = 'RefGone' | 'Refused' | 'Denied' | 'NotThere' | 'Unreachable' | 'Damaged'

/** What git means, by its English words; the first that fits. */
const meanings: readonly (readonly [RegExp, RemoteFaultCode])[] = [
  [/couldn't find remote ref|not our ref|no such remote ref/i, 'RefGone'],
  [/fsck error|transport '.*' not allowed|protocol '.*' is not supported/i, 'Refused'],
  [
    /host key verification failed|authentication failed|permission denied|could not read (username|password)/i,
    'Denied',
  ],
  [/terminal prompts disabled|returned error: 40[13]/i, 'Denied'],
  [
    /repository .*not found|not appear to be a git repository|returned error: 404|no such file or directory/i,
    'NotThere',
  ],
  [/could not resolve|connection (refused|reset|timed out|closed)|unable to access|hung up|early eof/i, 'Unreachable'],
  [
    /corrupt|bad object|object file .* is empty|not a git repository|bad config|missing object|invalid index/i,
    'Damaged',
  ],
  [/unable to (read|parse|open) |did not (send|receive)|does not (match index|point to a valid object)/i, 'Damaged'],
]

export function meaningOf(stderr: string): RemoteFaultCode {
  return meanings.find(([words]) => words.test(stderr))?.[1] ?? 'Unreachable'
}
