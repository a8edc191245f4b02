import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readIfThere, seeFile } from './seen-file.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-seen-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const file = () => join(folder, 'file')

describe('looking for a file', () => {
  it('tells absence only when the folder is there', async () => {
    expect(await seeFile(file())).toEqual({ is: 'Absent' })
    expect(await seeFile(join(folder, 'missing/file'))).toMatchObject({
      is: 'Unreadable',
      why: expect.stringContaining('missing'),
    })
    writeFileSync(file(), '')
    expect(await seeFile(join(file(), 'below'))).toMatchObject({ is: 'Unreadable' })
  })

  it('tells one file from the next of the same name, and the same file from itself', async () => {
    writeFileSync(file(), '')
    const first = await seeFile(file())
    writeFileSync(file(), 'more')
    expect(await seeFile(file())).toEqual(first)
    rmSync(file())
    await sleep(5)
    writeFileSync(file(), '')
    expect(await seeFile(file())).not.toEqual(first)
  })

  it('follows links, and takes a folder for no file', async () => {
    writeFileSync(join(folder, 'real'), '')
    symlinkSync('real', file())
    expect(await seeFile(file())).toMatchObject({ is: 'Present' })
    mkdirSync(join(folder, 'folder'))
    expect(await seeFile(join(folder, 'folder'))).toMatchObject({
      is: 'Unreadable',
      why: expect.stringContaining('not a file'),
    })
    symlinkSync('loop', join(folder, 'loop'))
    expect(await seeFile(join(folder, 'loop'))).toMatchObject({
      is: 'Unreadable',
      why: expect.stringContaining('ELOOP'),
    })
  })
})

it('a text that is not there is none, and one that cannot be read is an error', async () => {
  expect(await readIfThere(file())).toBeUndefined()
  writeFileSync(file(), 'text')
  expect(await readIfThere(file())).toBe('text')
  await expect(readIfThere(folder)).rejects.toThrow('EISDIR')
})
