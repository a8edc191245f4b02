import { createHash } from 'node:crypto'
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../time/index.ts'
import type { ConfigProblem, ProfilesConfig } from '../plugin.ts'
import { problemText } from '../problem-text.ts'
import { loadConfig } from './load.ts'
import type { Registry } from './registry.ts'
import type { Environment } from './variables.ts'

export interface ConfigFileOptions {
  readonly plugins: Registry
  readonly clock: Clock
  /** Asked at each load. */
  readonly env: () => Environment
  /** Until then the file is watched. */
  readonly signal: AbortSignal
  /** How often it is looked at when no event came; a watch can miss what a look sees. */
  readonly pollMs?: number
}

export interface ConfigFileState {
  /** The last good one; none before the first. */
  readonly config: ProfilesConfig | undefined
  /** Of what is in the file now. */
  readonly problems: readonly ConfigProblem[]
  /** Whether the config in force is what is in the file now. */
  readonly isCurrent: boolean
  /** When the config in force was read, in milliseconds since 1970. */
  readonly loadedAt: number | undefined
  /** Of the text of the config in force. */
  readonly hash: string | undefined
}

type Content = { readonly text: string } | { readonly problem: string }

/** Who writes in place may be seen halfway, and half a file may well be a good one. */
const settleMs = 100
const mostLooks = 50

/** A maintenance.yaml that is followed: read anew once per change, and a bad one leaves the last good one in force. */
export class ConfigFile {
  readonly path: string
  readonly #options: ConfigFileOptions
  readonly #listeners = new Set<() => void>()
  #state: ConfigFileState = {
    config: undefined,
    problems: [],
    isCurrent: false,
    loadedAt: undefined,
    hash: undefined,
  }
  #seen: string | undefined
  #isWatched = false
  #wake: () => void = () => undefined

  constructor(path: string, options: ConfigFileOptions) {
    this.path = path
    this.#options = options
    void this.#follow()
  }

  state(): ConfigFileState {
    return this.#state
  }

  /** What is in force. */
  current(): ProfilesConfig | undefined {
    return this.#state.config
  }

  /** Why what is in the file now is not in force; nothing if it is. */
  errors(): readonly string[] {
    const { isCurrent, problems } = this.#state
    if (isCurrent) return []
    return problems.filter(({ severity }) => severity === 'error').map((problem) => problemText(this.path, problem))
  }

  /** Calls back after each change of the state, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #follow(): Promise<void> {
    const { clock, signal, pollMs = 5_000 } = this.#options
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      // Before the look: what happens during it is looked at again. The folder may come later than we do.
      this.#watch()
      await this.#look().catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      const rest = new AbortController()
      await Promise.race([woken, clock.sleep(pollMs, AbortSignal.any([signal, rest.signal]))]).catch(() => undefined)
      rest.abort()
    }
  }

  /** The folder, not the file: a mounted ConfigMap is changed by turning a link beside it. */
  #watch(): void {
    if (this.#isWatched) return
    const onEnd = () => {
      this.#isWatched = false
    }
    try {
      watch(dirname(this.path), { signal: this.#options.signal, persistent: false }, () => this.#wake())
        .on('error', onEnd)
        .on('close', onEnd)
      this.#isWatched = true
    } catch {
      this.#isWatched = false
    }
  }

  async #look(): Promise<void> {
    const { clock, signal } = this.#options
    let content = await this.#read()
    if (keyOf(content) === this.#seen) return
    for (let looks = 0; this.#seen !== undefined && looks < mostLooks; looks++) {
      await clock.sleep(settleMs, signal)
      const again = await this.#read()
      if (keyOf(again) === keyOf(content)) break
      content = again
    }
    if (keyOf(content) === this.#seen) return
    this.#seen = keyOf(content)
    this.#take(content)
    for (const listener of this.#listeners) listener()
  }

  async #read(): Promise<Content> {
    try {
      return { text: await readFile(this.path, 'utf8') }
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      const why = code === 'ENOENT' ? 'it is not there; create it' : `it cannot be read (${code}); look at its rights`
      return { problem: why }
    }
  }

  #take(content: Content): void {
    if ('problem' in content) this.#refuse(content.problem)
    else
      try {
        this.#load(content.text)
      } catch {
        // What was thrown may hold what is in the file, and that may be a password.
        this.#refuse('Fettle fails over it, which is a fault of Fettle; undo the last change, and report it')
      }
  }

  #load(text: string): void {
    const { plugins, env, clock } = this.#options
    const { config, problems } = loadConfig(text, { env: env(), plugins })
    this.#state = config
      ? { config, problems, isCurrent: true, loadedAt: clock.now(), hash: hashOf(text) }
      : { ...this.#state, problems, isCurrent: false }
  }

  #refuse(message: string): void {
    const problem = { severity: 'error', line: 1, column: 1, path: '', message } as const
    this.#state = { ...this.#state, problems: [problem], isCurrent: false }
  }
}

function keyOf(content: Content): string {
  return 'text' in content ? hashOf(content.text) : content.problem
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
