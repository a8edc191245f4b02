import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type ProcessIdentity, startTicksOf } from '../host/index.ts'

/**
 * Runs `work` while holding a lock between processes. A folder is the lock, because making one is atomic on every
 * file system; the owner's identity inside lets the next process take over from one that died.
 */
export async function withFolderLock<T>(
  path: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const owner = join(path, 'owner.json')
  for (;;) {
    signal?.throwIfAborted()
    try {
      await mkdir(path)
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (await isAbandoned(owner)) await rm(path, { recursive: true, force: true })
    else await sleep(100, undefined, signal ? { signal } : {})
  }
  try {
    const identity: ProcessIdentity = { pid: process.pid, startTicks: startTicksOf(process.pid) ?? 0 }
    await writeFile(owner, JSON.stringify(identity))
    return await work()
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

/** An owner that is not written yet gets a second to do so. */
async function isAbandoned(owner: string): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      return !isAlive(JSON.parse(await readFile(owner, 'utf8')) as ProcessIdentity)
    } catch {
      await sleep(100)
    }
  }
  return true
}
