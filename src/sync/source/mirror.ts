import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../time/index.ts'
import { withLock } from './folder-lock.ts'
import { type GitResult, runGit } from './git.ts'
import { lastWords, meaningOf, type RemoteFaultCode, SourceFault } from './source-fault.ts'
import { type WantedRef, wantedText } from './wanted-ref.ts'

export interface MirrorOptions {
  readonly url: string
  readonly shown: string
  readonly protocols: readonly string[]
  readonly wanted: WantedRef
  readonly cacheFolder: string
  readonly clock: Clock
}

/** A bare copy of a repository that lies elsewhere; of it, the one ref that is wanted. */
export interface Mirror {
  readonly gitDir: string
  /** Under which name the wanted commit is found after an update. */
  readonly tipName: string
  /** And the ref that was fetched for it: for a pinned commit, its branch. */
  readonly branchName: string
  update(signal: AbortSignal): Promise<void>
  /** Throws all of it away and fetches anew. */
  rebuild(signal: AbortSignal): Promise<void>
  /** What the other side has now; undefined when the ref is not there. Fetches nothing. */
  ask(signal: AbortSignal): Promise<string | undefined>
}

export function openMirror(options: MirrorOptions): Mirror {
  const { url, shown, protocols, wanted, cacheFolder, clock } = options
  const name = `${shown.replaceAll(/[^\w.-]+/g, '-').slice(-60)}-${digest(url)}`
  const gitDir = join(cacheFolder, `${name}.git`)
  const remoteRef = remoteRefOf(wanted)
  // Not under its own name: a branch `a` that is gone would stand in the way of `a/b`.
  const localRef = `refs/fettle/${digest(remoteRef)}`
  const remote = (args: readonly string[], signal: AbortSignal, deadlineMs = 60_000) =>
    runGit(args, { gitDir, protocols }, { signal, deadlineMs })

  const update = async (signal: AbortSignal) => {
    if (!existsSync(gitDir)) await makeEmpty(gitDir, signal)
    if (wanted.is === 'commit' && wanted.branch === undefined && (await has(gitDir, wanted.id, signal))) return
    const spec = `+${remoteRef}:${localRef}`
    const flags = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules']
    // The first time brings all of the history, and cannot go on where it was stopped.
    const deadlineMs = existsSync(join(gitDir, localRef)) ? 60_000 : 10 * 60_000
    refuse(await remote(['fetch', ...flags, '--', url, spec], signal, deadlineMs), shown, wanted)
  }
  const rebuild = async (signal: AbortSignal) => {
    // Aside first: whoever reads it meanwhile sees the old one or the new one, not half of it.
    const aside = `${gitDir}.${randomUUID()}`
    if (existsSync(gitDir)) await rename(gitDir, aside)
    await rm(aside, { recursive: true, force: true })
    await update(signal)
  }
  const alone = async (signal: AbortSignal, work: () => Promise<void>) => {
    await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
    await withLock(`${gitDir}.lock`, { signal, clock }, work)
  }

  return {
    gitDir,
    tipName: wanted.is === 'commit' ? wanted.id : localRef,
    branchName: localRef,
    update: (signal) =>
      alone(signal, async () => {
        try {
          await update(signal)
        } catch (fault) {
          if (!(fault instanceof SourceFault) || fault.code !== 'Damaged') throw fault
          await rebuild(signal)
        }
      }),
    rebuild: (signal) => alone(signal, () => rebuild(signal)),
    ask: async (signal) => {
      // A tag may be an object of its own; the commit behind it has ^{} at its end and comes after it.
      const result = await remote(['ls-remote', '--quiet', '--', url, remoteRef, `${remoteRef}^{}`], signal)
      refuse(result, shown, wanted)
      const lines = result.stdout.split('\n').map((line) => line.split('\t'))
      return lines.findLast(([, ref]) => ref === remoteRef || ref === `${remoteRef}^{}`)?.[0]
    },
  }
}

function remoteRefOf(wanted: WantedRef): string {
  if (wanted.is === 'head') return 'HEAD'
  return wanted.is === 'commit' ? (wanted.branch ?? wanted.id) : wanted.ref
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

async function makeEmpty(gitDir: string, signal: AbortSignal): Promise<void> {
  const part = `${gitDir}.${randomUUID()}`
  // No templates: they bring hooks.
  const result = await runGit(['init', '--quiet', '--bare', '--template='], { gitDir: part }, { signal })
  if (result.code !== 0)
    throw new SourceFault('Refused', `No mirror could be made in ${gitDir}: ${lastWords(result.stderr)}.`)
  await rename(part, gitDir)
}

async function has(gitDir: string, id: string, signal: AbortSignal): Promise<boolean> {
  return (await runGit(['cat-file', '-e', `${id}^{commit}`], { gitDir }, { signal })).code === 0
}

function refuse({ code, stderr }: GitResult, shown: string, wanted: WantedRef): void {
  if (code === 0) return
  const words = lastWords(stderr) || `git ended with ${code}`
  const texts: Readonly<Record<RemoteFaultCode, string>> = {
    RefGone: `There is no ${wantedText(wanted)} in ${shown}. Push it, or name another one.`,
    NotThere: `There is no repository at ${shown}, or it is not shown to us: ${words}.`,
    Denied: `${shown} does not let us in: ${words}. For https, put the login into ~/.netrc; for ssh, load the key into the agent and put the key of the host into known_hosts.`,
    Refused: `What ${shown} sent is not taken: ${words}.`,
    Damaged: `The mirror of ${shown} is damaged: ${words}.`,
    Unreachable: `${shown} cannot be reached: ${words}. It is tried again.`,
  }
  const meaning = meaningOf(stderr)
  throw new SourceFault(meaning, texts[meaning])
}
