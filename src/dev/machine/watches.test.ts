import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { allowWatches, enoughWatches } from './watches.ts'

const folder = mkdtempSync(join(tmpdir(), 'fettle-watches-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileWith = (limit: number) => {
  const file = join(folder, String(limit))
  writeFileSync(file, `${limit}\n`)
  return file
}

test('a limit that is too small is raised, once, and one that is enough is left alone', () => {
  const small = fileWith(128)
  expect(allowWatches(small)).toContain('raised from 128 to 1024')
  expect(readFileSync(small, 'utf8')).toBe(`${enoughWatches}\n`)
  expect(allowWatches(small)).toBeUndefined()
  const large = fileWith(8192)
  expect(allowWatches(large)).toBeUndefined()
  expect(readFileSync(large, 'utf8')).toBe('8192\n')
})
