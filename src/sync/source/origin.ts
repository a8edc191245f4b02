import type { Clock } from '../../time/index.ts'
import { findRepository, type LocalRepository, watchRef } from './local-repository.ts'
import type { Mirror } from './mirror.ts'
import type { WantedRef } from './wanted-ref.ts'

/** What a look at the ref showed: the id of a commit, or one of the two words below. */
export type Seen = string
export const gone: Seen = 'gone'
export const failed: Seen = 'failed'

/** Where the objects are read, and how one learns of new ones. */
export interface Origin {
  readonly gitDir: string
  readonly shown: string
  /** Under which name the wanted commit is found in it. */
  readonly tipName: string
  /** The branch on which a pinned commit has to be. */
  readonly branchName?: string
  update(signal: AbortSignal): Promise<void>
  rebuild?(signal: AbortSignal): Promise<void>
  /** Resolves when the ref shows something else than `seen`. */
  untilMoved(seen: Seen, look: () => Promise<Seen>, signal: AbortSignal): Promise<void>
}

/** For file systems that tell of no changes. A look costs no process. */
const lookAnywayMs = 5_000
/** A push writes several files. */
const debounceMs = 50

export function localOrigin(given: {
  readonly repository: LocalRepository
  readonly path: string
  readonly wanted: WantedRef
  readonly clock: Clock
}): Origin {
  const { repository, path, wanted, clock } = given
  const tipName = wanted.is === 'head' ? 'HEAD' : wanted.is === 'commit' ? wanted.id : wanted.ref
  const watched = wanted.is === 'commit' ? (wanted.branch ?? 'HEAD') : tipName
  return {
    gitDir: repository.gitDir,
    shown: path,
    tipName,
    ...(wanted.is === 'commit' && wanted.branch ? { branchName: wanted.branch } : {}),
    update: async (signal) => {
      signal.throwIfAborted()
      await findRepository(path)
    },
    untilMoved: async (seen, look, signal) => {
      for (;;) {
        signal.throwIfAborted()
        // Watched before it is looked at: nothing falls between the two.
        const watch = await watchRef(repository, watched)
        const wake = new AbortController()
        const onAbort = () => wake.abort(signal.reason)
        signal.addEventListener('abort', onAbort, { once: true })
        try {
          if ((await look()) !== seen) return
          await Promise.race([watch.touched, clock.sleep(lookAnywayMs, wake.signal)])
        } finally {
          signal.removeEventListener('abort', onAbort)
          wake.abort()
          watch.close()
        }
        await clock.sleep(debounceMs, signal)
      }
    },
  }
}

const longestPollMs = 5 * 60_000

export function remoteOrigin(given: {
  readonly mirror: Mirror
  readonly shown: string
  readonly wanted: WantedRef
  readonly clock: Clock
  readonly pollMs: number
}): Origin {
  const { mirror, shown, wanted, clock, pollMs } = given
  const isPinned = wanted.is === 'commit'
  let failures = 0
  const pause = (signal: AbortSignal) => {
    // Not all at the same moment, and a host in trouble less and less often.
    const ms = Math.min(pollMs * 2 ** Math.min(failures, 10), Math.max(pollMs, longestPollMs))
    return clock.sleep(ms * (0.9 + Math.random() * 0.2), signal)
  }
  return {
    gitDir: mirror.gitDir,
    shown,
    tipName: mirror.tipName,
    ...(isPinned && wanted.branch ? { branchName: mirror.branchName } : {}),
    update: async (signal) => {
      failures++
      await mirror.update(signal)
      failures = 0
    },
    rebuild: (signal) => mirror.rebuild(signal),
    untilMoved: async (seen, _look, signal) => {
      for (;;) {
        await pause(signal)
        // A commit stays what it is; one that could not be had may be there by now.
        if (isPinned && seen === wanted.id) continue
        if (isPinned) return
        const now = await mirror.ask(signal).catch(() => failed)
        signal.throwIfAborted()
        if (now === failed) failures++
        // A failure is told once; who fetches then sees why.
        if ((now ?? gone) !== seen) return
      }
    },
  }
}
