import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isAlive, startTicksOf } from '../../host/index.ts'
import type { Clock } from '../../time/index.ts'
import { SourceFault } from './source-fault.ts'

export interface LockOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** How long to wait for whoever holds it; default two minutes. */
  readonly waitMs?: number
}

/** Nobody holds it longer: every command under it has a deadline. For holders that cannot be asked whether they live. */
const oldestMs = 30 * 60_000

/** Does the work while no other process does; one that ended without letting go is not waited for. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { signal, clock, waitMs = 120_000 } = options
  const ours = `${hostname()} ${process.pid} ${startTicksOf(process.pid) ?? 0} ${randomUUID()}`
  const startedAt = clock.monotonic()
  while (!(await take(path, ours))) {
    if (clock.monotonic() - startedAt > waitMs)
      throw new SourceFault('Busy', `Another process holds ${path} for ${waitMs / 1000} s. Wait for it, or end it.`)
    await removeStale(path, clock)
    await clock.sleep(50, signal)
  }
  try {
    return await work()
  } finally {
    if ((await holderOf(path)) === ours) await rm(path, { force: true })
  }
}

/** The file appears together with what it says, or not at all. */
async function take(path: string, holder: string): Promise<boolean> {
  const part = `${path}.${randomUUID()}`
  await writeFile(part, holder, { flag: 'wx', mode: 0o600 })
  try {
    await link(part, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await unlink(part)
  }
}

async function holderOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined)
}

async function removeStale(path: string, clock: Clock): Promise<void> {
  const holder = await holderOf(path)
  if (holder === undefined || !(await isStale(path, holder, clock))) return
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
    // Somebody else may have been quicker, and this is the lock of the next one: it gets it back.
    if ((await holderOf(aside)) !== holder) await link(aside, path)
  } catch {
    return
  } finally {
    await rm(aside, { force: true })
  }
}

async function isStale(path: string, holder: string, clock: Clock): Promise<boolean> {
  const [host, pid, startTicks] = holder.split(' ')
  if (host === hostname() && Number(startTicks) > 0 && startTicksOf(process.pid) !== undefined)
    return !isAlive({ pid: Number(pid), startTicks: Number(startTicks) })
  const changed = await stat(path).catch(() => undefined)
  return changed !== undefined && clock.now() - changed.mtimeMs > oldestMs
}
