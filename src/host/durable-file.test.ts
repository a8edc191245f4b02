import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePrivateFolder, removeDurably, writeDurably } from './durable-file.ts'
import { runOk } from './process.ts'

const isRoot = process.getuid?.() === 0
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-durable-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a durable file', () => {
  it('is whole, has the mode that was asked for whatever the umask, and leaves nothing beside it', async () => {
    const before = process.umask(0o077)
    try {
      await writeDurably(join(folder, 'file'), 'one', 0o644)
      await writeDurably(join(folder, 'file'), 'two', 0o644)
    } finally {
      process.umask(before)
    }
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('two')
    expect(statSync(join(folder, 'file')).mode & 0o777).toBe(0o644)
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('is written over what a crash left behind', async () => {
    writeFileSync(join(folder, '.file.part'), 'half')
    await writeDurably(join(folder, 'file'), 'whole')
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('is not written through a link, nor is a folder made behind one', async () => {
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
    await expect(writeDurably(join(folder, 'link'), 'x')).rejects.toThrow('is a link')
    await expect(makePrivateFolder(join(folder, 'link'))).rejects.toThrow('is a link')
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false)
  })

  it('goes without complaint, also when it is not there', async () => {
    await writeDurably(join(folder, 'file'), 'x')
    await removeDurably(join(folder, 'file'))
    await removeDurably(join(folder, 'file'))
    expect(readdirSync(folder)).toEqual([])
  })

  it('is private in a private folder', async () => {
    await makePrivateFolder(join(folder, 'a/b'))
    expect(statSync(join(folder, 'a/b')).mode & 0o777).toBe(0o700)
  })

  it.skipIf(!isRoot)('on a full disk keeps what was there (needs root to mount)', async () => {
    await runOk(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'fettle-test', folder])
    try {
      await writeDurably(join(folder, 'file'), 'old')
      writeFileSync(join(folder, 'filler'), Buffer.alloc(56 * 1024))
      await expect(writeDurably(join(folder, 'file'), 'x'.repeat(16 * 1024))).rejects.toThrow('ENOSPC')
      expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('old')
      expect(readdirSync(folder).sort()).toEqual(['file', 'filler'])
    } finally {
      await runOk(['umount', folder])
    }
  })
})
