import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'

export const repository = resolve(import.meta.dirname, '../..')

/** What people type in a checkout. Reading the sources takes it a second each time. */
export const fromSources = [process.execPath, join(repository, 'bin/fettle.js')] as const

/** What the package ships, bundles, start in a tenth of that; so tests that call it often use them. */
export const fromBundle = [process.execPath, await bundle('cli')] as const
/** What runs for `fettle sync`. */
export const fromSyncBundle = [process.execPath, await bundle('sync-cli')] as const

async function bundle(entry: string): Promise<string> {
  // Inside the checkout, because the program looks for `cluster/` in the folders above it.
  const outfile = join(repository, `node_modules/.cache/fettle-test/${entry}.mjs`)
  const part = `${outfile}.${process.pid}.mjs`
  await build({
    entryPoints: [join(repository, `src/main/${entry}.ts`)],
    outfile: part,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
    },
  })
  renameSync(part, outfile)
  return outfile
}

export interface FettleOptions {
  /** FETTLE_HOME of the process: clusters of different homes never meet. */
  readonly home?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** What to run instead of a bundle of this checkout. */
  readonly program?: readonly string[]
  readonly deadlineMs?: number
}

export interface FettleResult {
  /** Null when a signal ended the process before it could answer. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly seconds: number
}

export interface FettleProcess {
  readonly pid: number
  readonly finished: Promise<FettleResult>
  /** What it said so far, on both streams. */
  said(): string
  untilSaid(text: string, withinMs?: number): Promise<void>
  /** To the process alone, as `kill` does, or to its whole group, as a terminal does on Ctrl-C. */
  signal(signal: NodeJS.Signals, to?: 'process' | 'group'): void
}

/** Starts the real program, in a process group of its own, as a shell would. */
export function startFettle(args: readonly string[], options: FettleOptions = {}): FettleProcess {
  const [command = '', ...before] = options.program ?? (args[0] === 'sync' ? fromSyncBundle : fromBundle)
  const startedAt = Date.now()
  const child = spawn(command, [...before, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(options),
    cwd: options.cwd ?? repository,
  })
  const said = { stdout: '', stderr: '', both: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text
      said.both += text
    })
  const kill = (signal: NodeJS.Signals, to: 'process' | 'group' = 'process') => {
    try {
      // Of a group some may live on after the first one has ended.
      if (child.pid && to === 'group') process.kill(-child.pid, signal)
      else child.kill(signal)
    } catch {
      // All gone.
    }
  }
  const deadline = setTimeout(() => kill('SIGKILL', 'group'), options.deadlineMs ?? 100_000)
  const finished = new Promise<FettleResult>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => {
      clearTimeout(deadline)
      const seconds = (Date.now() - startedAt) / 1000
      done({ code, signal, stdout: said.stdout, stderr: said.stderr, seconds })
    })
  })
  return {
    pid: child.pid ?? 0,
    finished,
    said: () => said.both,
    signal: kill,
    async untilSaid(text, withinMs = 60_000) {
      for (const endAt = Date.now() + withinMs; !said.both.includes(text); await sleep(20))
        if (Date.now() > endAt || child.exitCode !== null)
          throw new Error(`fettle ${args.join(' ')} did not say '${text}', but:\n${said.both}`)
    },
  }
}

export function fettle(args: readonly string[], options: FettleOptions = {}): Promise<FettleResult> {
  return startFettle(args, options).finished
}

/** What the test runner adds to the environment must not reach the program, or its output is not what people see. */
function environment({ home, env }: FettleOptions): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|NODE_OPTIONS|NODE_ENV|NODE_V8_COVERAGE|FORCE_COLOR|TEST|DEV|PROD|MODE|npm_)/.test(name),
  )
  return { ...Object.fromEntries(own), ...(home ? { FETTLE_HOME: home } : {}), ...env }
}

export interface TemporaryHome {
  readonly path: string
  /** Takes every cluster in it down, then removes the folder. */
  remove(): Promise<void>
}

/** A FETTLE_HOME for one test file. */
export function temporaryHome(): TemporaryHome {
  const path = mkdtempSync(join(tmpdir(), 'fettle-home-'))
  return {
    path,
    async remove() {
      for (const name of clusterFolders(path)) await fettle(['dev', 'down', '--name', name], { home: path })
      rmSync(path, { recursive: true, force: true })
    },
  }
}

function clusterFolders(home: string): string[] {
  try {
    return readdirSync(join(home, 'clusters'))
  } catch {
    return []
  }
}
