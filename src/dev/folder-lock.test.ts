import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeAbandonedLock, withFolderLock } from './folder-lock.ts'

let folder = ''
let lock = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-lock-'))
  lock = join(folder, 'a.lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What the crash of a process leaves: its name, under an id that nobody has, or that somebody else has by now. */
function leaveDeadOwner(owner = `${process.pid}-1-aaaaaaaa`): void {
  mkdirSync(lock, { recursive: true })
  writeFileSync(join(lock, owner), '')
}

describe('a lock between processes', () => {
  it('lets one in at a time, however many come', async () => {
    leaveDeadOwner()
    let inside = 0
    let most = 0
    let done = 0
    await Promise.all(
      Array.from({ length: 12 }, () =>
        withFolderLock(lock, undefined, async () => {
          most = Math.max(most, ++inside)
          await sleep(2)
          inside--
          done++
        }),
      ),
    )
    expect({ most, done }).toEqual({ most: 1, done: 12 })
  })

  it('passes on what the work gave or threw, and leaves nothing either way', async () => {
    expect(await withFolderLock(lock, undefined, async () => 7)).toBe(7)
    await expect(withFolderLock(lock, undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([`${process.pid}-1-aaaaaaaa`, '999999999-5-bbbbbbbb', 'owner.json'])(
    'is taken over from an owner that died: %s',
    async (owner) => {
      leaveDeadOwner(owner)
      expect(await withFolderLock(lock, AbortSignal.timeout(2_000), async () => readdirSync(lock).length)).toBe(1)
    },
  )

  it('is not waited for after a request to stop, and the owner keeps it', async () => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const owner = withFolderLock(lock, undefined, () => released)
    await sleep(30)
    await expect(withFolderLock(lock, AbortSignal.timeout(50), async () => 'in')).rejects.toThrow()
    expect(existsSync(lock)).toBe(true)
    release()
    await owner
    expect(existsSync(lock)).toBe(false)
  })

  it('is removed when abandoned, and left when held', async () => {
    leaveDeadOwner()
    await removeAbandonedLock(lock)
    expect(existsSync(lock)).toBe(false)
    await withFolderLock(lock, undefined, async () => {
      await removeAbandonedLock(lock)
      expect(existsSync(lock)).toBe(true)
    })
    await removeAbandonedLock(lock)
  })
})
