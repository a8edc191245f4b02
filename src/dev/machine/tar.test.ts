import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runOk } from '../../host/index.ts'
import { type TarEntry, tarArchive } from './tar.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-tar-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function unpack(entries: readonly TarEntry[]): Promise<string> {
  writeFileSync(join(folder, 'a.tar'), tarArchive(entries))
  return (await runOk(['tar', '-xvpf', 'a.tar'], { cwd: folder })).stdout
}

describe('a tar archive', () => {
  it('is read by tar: content, rights, links, and folders that nobody named', async () => {
    const content = Buffer.from('x'.repeat(1000))
    const listed = await unpack([
      { kind: 'file', path: '/bin/program', content, mode: 0o755 },
      { kind: 'link', path: 'bin/other', target: 'program' },
      { kind: 'folder', path: 'tmp/', mode: 0o700 },
      { kind: 'file', path: 'empty', content: Buffer.alloc(0) },
    ])
    expect(listed).toBe('bin/\nbin/other\nbin/program\nempty\ntmp/\n')
    expect(readFileSync(join(folder, 'bin/other'))).toEqual(content)
    expect(statSync(join(folder, 'bin/program')).mode & 0o777).toBe(0o755)
    expect(statSync(join(folder, 'tmp')).mode & 0o777).toBe(0o700)
  })

  it('carries paths of up to 255 bytes', async () => {
    const path = `${'a'.repeat(90)}/${'b'.repeat(60)}/${'c'.repeat(99)}`
    await unpack([{ kind: 'file', path, content: Buffer.from('deep') }])
    expect(readFileSync(join(folder, path), 'utf8')).toBe('deep')
  })

  it('refuses what does not fit', () => {
    const content = Buffer.alloc(0)
    expect(() => tarArchive([{ kind: 'file', path: 'a'.repeat(101), content }])).toThrow(RangeError)
    expect(() => tarArchive([{ kind: 'link', path: 'a', target: 'b'.repeat(101) }])).toThrow(RangeError)
  })

  it('has the same bytes for the same entries in any order', () => {
    const one: TarEntry = { kind: 'file', path: 'a/one', content: Buffer.from('1') }
    const two: TarEntry = { kind: 'file', path: 'a/two', content: Buffer.from('2') }
    expect(tarArchive([one, two])).toEqual(tarArchive([two, one]))
  })
})
