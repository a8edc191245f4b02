import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { endGroup, startFault, startGit } from './git.ts'
import { lastWords, SourceFault } from './source-fault.ts'

export interface GitObject {
  readonly id: string
  readonly type: string
  readonly bytes: Buffer
}

/** How much may still be read. Shared by all reads of one call. */
export interface ReadBudget {
  readonly mostPerObject: number
  left: number
}

interface Question {
  readonly name: string
  readonly budget: ReadBudget
  resolve(object: GitObject | 'too large' | undefined): void
  reject(fault: unknown): void
}

const quietMs = 60_000

/**
 * One `git cat-file --batch` that stays: a question costs no process. It sees refs and objects that come later. When it
 * ends, for whatever reason, all open questions fail, and a new one has to be made.
 */
export class ObjectReader {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #questions: Question[] = []
  #fault: SourceFault | undefined
  #said = ''
  #header: Buffer = Buffer.alloc(0)
  #body:
    | { readonly id: string; readonly type: string; readonly bytes: Buffer | undefined; size: number; at: number }
    | undefined
  #watchdog: NodeJS.Timeout | undefined

  constructor(gitDir: string) {
    this.#child = startGit(['cat-file', '--batch'], { gitDir })
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString('utf8')).slice(-4_000)
    })
    this.#child.stdin.on('error', () => undefined)
    this.#child.once('error', (error) => this.#end(startFault(error)))
    this.#child.once('close', () => this.#end(this.#damaged('git stopped reading')))
  }

  get hasEnded(): boolean {
    return this.#fault !== undefined
  }

  /** Undefined when there is no such object. The name must be checked: a line of its own would be a second question. */
  read(name: string, budget: ReadBudget): Promise<GitObject | 'too large' | undefined> {
    if (this.#fault) return Promise.reject(this.#fault)
    return new Promise((resolve, reject) => {
      this.#questions.push({ name, budget, resolve, reject })
      this.#child.stdin.write(`${name}\n`)
      this.#watchdog ??= setTimeout(() => {
        this.#end(new SourceFault('TimedOut', `git said nothing for ${quietMs / 1000} s while objects were read.`))
        this.close()
      }, quietMs)
    })
  }

  close(): void {
    this.#end(new SourceFault('Damaged', 'The repository was closed while it was read.'))
    this.#child.stdin.end()
    void endGroup(this.#child)
  }

  #damaged(what: string): SourceFault {
    const words = lastWords(this.#said)
    return new SourceFault('Damaged', `${what}${words ? `: ${words}` : ''}. Look at the repository with git fsck.`)
  }

  #end(fault: SourceFault): void {
    this.#fault ??= fault
    clearTimeout(this.#watchdog)
    for (const question of this.#questions.splice(0)) question.reject(this.#fault)
  }

  /** `<id> <type> <size>`, a line feed, the bytes, a line feed; or `<name> missing`. */
  #take(chunk: Buffer): void {
    this.#watchdog?.refresh()
    for (let at = 0; at < chunk.length; ) {
      if (this.#body === undefined) {
        const end = chunk.indexOf(0x0a, at)
        const part = chunk.subarray(at, end < 0 ? chunk.length : end)
        this.#header = this.#header.length === 0 ? part : Buffer.concat([this.#header, part])
        if (end < 0) return
        at = end + 1
        this.#begin(this.#header.toString('utf8'))
        this.#header = Buffer.alloc(0)
      } else {
        const body = this.#body
        const taken = Math.min(chunk.length - at, body.size + 1 - body.at)
        // The line feed at the end does not fit in, and is not copied.
        if (body.bytes) chunk.copy(body.bytes, body.at, at, at + taken)
        body.at += taken
        at += taken
        if (body.at > body.size) this.#finish(body)
      }
    }
  }

  #begin(header: string): void {
    const question = this.#questions[0]
    if (!question) return
    const [, id = '', type = '', digits = ''] = /^([\da-f]{40,64}) (commit|tree|blob|tag) (\d+)$/.exec(header) ?? []
    if (id === '') {
      this.#answer(undefined)
      return
    }
    const size = Number(digits)
    const { budget } = question
    const fits = size <= budget.mostPerObject && size <= budget.left
    if (fits) budget.left -= size
    this.#body = { id, type, size, at: 0, bytes: fits ? Buffer.allocUnsafe(size) : undefined }
  }

  #finish({
    id,
    type,
    bytes,
  }: {
    readonly id: string
    readonly type: string
    readonly bytes: Buffer | undefined
  }): void {
    this.#body = undefined
    this.#answer(bytes === undefined ? 'too large' : { id, type, bytes })
  }

  #answer(object: GitObject | 'too large' | undefined): void {
    this.#questions.shift()?.resolve(object)
    if (this.#questions.length > 0) return
    clearTimeout(this.#watchdog)
    this.#watchdog = undefined
  }
}
