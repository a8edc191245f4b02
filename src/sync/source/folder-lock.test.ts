import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTicksOf } from '../../host/index.ts'
import { systemClock } from '../../time/index.ts'
import { withLock } from './folder-lock.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = () => join(folder, 'lock')
const options = (waitMs = 10_000) => ({ signal: AbortSignal.timeout(10_000), clock: systemClock, waitMs })
const ourTicks = startTicksOf(process.pid) ?? 0

test('one works at a time, and nothing is left behind', async () => {
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await sleep(5)
    inside--
  }
  await Promise.all(Array.from({ length: 5 }, () => withLock(path(), options(), work)))
  expect(most).toBe(1)
  expect(readdirSync(folder)).toEqual([])
})

test('it is let go when the work fails', async () => {
  await expect(withLock(path(), options(), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(readdirSync(folder)).toEqual([])
})

test.for([
  ['ended', `${hostname()} 999999999 5 x`, 0, true],
  ['has an id that another process got', `${hostname()} ${process.pid} ${ourTicks - 1} x`, 0, true],
  ['lives', `${hostname()} ${process.pid} ${ourTicks} x`, 0, false],
  ['lives, however long it takes', `${hostname()} ${process.pid} ${ourTicks} x`, 3_600_000, false],
  ['is on another machine', 'elsewhere 1 5 x', 0, false],
  ['was on another machine long ago', 'elsewhere 1 5 x', 3_600_000, true],
] as const)('a holder that %s', async ([, holder, ageMs, isTaken]) => {
  writeFileSync(path(), holder)
  const at = (Date.now() - ageMs) / 1000
  utimesSync(path(), at, at)
  const outcome = await withLock(path(), options(120), async () => 'worked').catch((fault: unknown) => fault)
  if (isTaken) expect(outcome).toBe('worked')
  else expect(outcome).toMatchObject({ code: 'Busy', isTransient: true })
  expect(readdirSync(folder)).toEqual(isTaken ? [] : ['lock'])
})

test('waiting ends when it is not wanted any more', async () => {
  writeFileSync(path(), `${hostname()} ${process.pid} ${ourTicks} x`)
  const given = { ...options(), signal: AbortSignal.timeout(50) }
  await expect(withLock(path(), given, async () => 'worked')).rejects.toMatchObject({ name: 'TimeoutError' })
})
