import { type Commit, readCommit } from './commit.ts'
import type { ReadObject } from './commit-files.ts'
import { ObjectReader } from './object-reader.ts'
import { SourceFault } from './source-fault.ts'

export interface StoredCommit extends Commit {
  readonly parents: readonly string[]
}

/** The objects of one repository, for as long as it is open. */
export interface ObjectStore {
  readonly gitDir: string
  readonly shown: string
  readonly read: ReadObject
  /** Undefined when the name leads to no commit. */
  commitAt(name: string): Promise<StoredCommit | undefined>
  /** Forgets what git remembers of the repository. */
  startAfresh(): void
  /** Work that is done again when the repository looks damaged: it may have been replaced, or can be made anew. */
  withRepairs<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
  close(): void
}

const commitBudget = () => ({ mostPerObject: 1024 * 1024, left: 1024 * 1024 })

export function openStore(given: {
  readonly gitDir: string
  readonly shown: string
  /** For a mirror. */
  readonly rebuild: ((signal: AbortSignal) => Promise<void>) | undefined
}): ObjectStore {
  const { gitDir, shown, rebuild } = given
  let reader: ObjectReader | undefined
  let isClosed = false

  const read: ReadObject = async (name, budget) => {
    if (isClosed) throw new SourceFault('Refused', `${shown} was closed before. Open it again.`)
    if (!reader || reader.hasEnded) reader = new ObjectReader(gitDir)
    return await reader.read(name, budget)
  }
  const startAfresh = () => {
    reader?.close()
    reader = undefined
  }
  return {
    gitDir,
    shown,
    read,
    startAfresh,
    commitAt: async (name) => {
      const object = await read(`${name}^{commit}`, commitBudget())
      if (object === 'too large') throw new SourceFault('TooLarge', `${name} has a message of more than 1 MiB.`)
      return object && readCommit(object.id, object.bytes)
    },
    withRepairs: async (signal, work) => {
      const repairs = [async () => undefined, ...(rebuild ? [() => rebuild(signal)] : [])]
      for (;;) {
        signal.throwIfAborted()
        try {
          return await abortable(work(), signal)
        } catch (fault) {
          const isDamage = fault instanceof SourceFault && fault.code === 'Damaged' && !isClosed
          const repair = isDamage ? repairs.shift() : undefined
          if (!repair) throw fault
          startAfresh()
          await repair()
        }
      }
    },
    close: () => {
      isClosed = true
      startAfresh()
    },
  }
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController()
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    done.abort()
  }
}
