import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, startTicksOf } from '../host/index.ts'

/**
 * Runs `work` while holding a lock between processes. The lock is a folder in which everyone who wants it puts a
 * file named after himself, and has it when he then finds nobody else alive in there. Names of the dead may be
 * removed by anyone at any time, so nobody can mistake a new owner for the dead one that he came to replace.
 */
export async function withFolderLock<T>(
  path: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const mine = `${process.pid}-${startTicksOf(process.pid) ?? 0}-${randomBytes(4).toString('hex')}`
  signal?.throwIfAborted()
  // Uneven waits: two that found each other and both stepped back must not meet again for ever.
  while (!(await enter(path, mine))) await sleep(20 + Math.random() * 100, undefined, signal ? { signal } : {})
  try {
    return await work()
  } finally {
    await leave(path, mine)
  }
}

/** Removes a lock whose owner died; leaves one that someone holds. */
export async function removeAbandonedLock(path: string): Promise<void> {
  if ((await othersAlive(path, '')).length === 0) await removeEmpty(path)
}

async function enter(path: string, mine: string): Promise<boolean> {
  if ((await othersAlive(path, mine)).length > 0) return false
  try {
    await mkdir(path, { recursive: true })
    await writeFile(join(path, mine), '')
  } catch (error) {
    // The one before took the empty folder away in between.
    if (isAbsence(error)) return false
    throw error
  }
  if ((await othersAlive(path, mine)).length === 0) return true
  await leave(path, mine)
  return false
}

async function leave(path: string, mine: string): Promise<void> {
  await rm(join(path, mine), { force: true })
  await removeEmpty(path)
}

async function othersAlive(path: string, mine: string): Promise<string[]> {
  const alive: string[] = []
  for (const name of await readdir(path).catch(nobody)) {
    if (name === mine) continue
    const [pid, startTicks] = name.split('-').map(Number)
    if (pid !== undefined && startTicks !== undefined && isAlive({ pid, startTicks })) alive.push(name)
    else await rm(join(path, name), { force: true })
  }
  return alive
}

function nobody(error: unknown): string[] {
  if (isAbsence(error)) return []
  throw error
}

async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (!isAbsence(error) && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  }
}

function isAbsence(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
