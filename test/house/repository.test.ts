import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const committed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path && existsSync(join(root, path)) && statSync(join(root, path)).isFile())
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifests = committed.filter((path) => /(^|\/)package\.json$/.test(path))
const lockFiles = committed.filter((path) => path.endsWith('package-lock.json'))

/** Files that contain the pattern, with the first such line. */
function linesWith(pattern: RegExp): string[] {
  return committed.flatMap((path) => {
    const line = read(path)
      .split('\n')
      .find((text) => pattern.test(text))
    return line === undefined ? [] : [`${path}: ${line.trim().slice(0, 120)}`]
  })
}

const literally = (text: string) => new RegExp(text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'))

describe('what is committed', () => {
  test('names no path of the machine that it was written on', () => {
    for (const path of new Set([root, homedir()]))
      if (path.length > 1) expect(linesWith(literally(`${path}/`))).toEqual([])
  })

  test('names no tool that helped to write it', () => {
    expect(linesWith(/[Cc]o-[Aa]uthored-[Bb]y:|\p{Emoji_Presentation}\s*[Gg]enerated/u)).toEqual([])
  })

  test('holds no private key', () => {
    expect(linesWith(/-{5}BEGIN [A-Z ]*PRIVATE KEY-{5}\\?n?[A-Za-z0-9+/=]{20}/)).toEqual([])
  })

  test('leaves the place that packages come from to whoever installs', () => {
    expect(lockFiles.length).toBeGreaterThan(0)
    for (const path of lockFiles) expect(read(path)).not.toMatch(/"resolved": "https?:/)
  })

  test('pins every dependency to one version', () => {
    for (const path of manifests) {
      const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(path))
      const loose = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
        ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
      )
      expect(loose, path).toEqual([])
    }
  })

  test('is under the Apache License 2.0, everywhere it says so', () => {
    expect(read('LICENSE')).toMatch(/^\s*Apache License\s+Version 2\.0, January 2004/)
    for (const path of manifests) expect(JSON.parse(read(path)).license, path).toBe('Apache-2.0')
    expect(read('README.md')).toContain('Apache-2.0')
  })
})

describe('the way a newcomer goes', () => {
  test('is what CI runs', () => {
    expect(read('.ci/run')).toMatch(/^npm ci && npm test$/m)
    expect(() => accessSync(join(root, '.ci/run'), constants.X_OK)).not.toThrow()
  })

  test('is in the README, line for line', () => {
    expect(read('README.md')).toMatch(/^npm ci && npm run demo$/m)
    expect(read('README.md')).toMatch(/^npm ci && npm test$/m)
  })

  test('finds a README in every room that says what it owns and what it must not know', () => {
    const rooms = new Set(committed.flatMap((path) => /^(src\/[^/]+)\//.exec(path)?.[1] ?? []))
    expect(rooms.size).toBeGreaterThan(4)
    for (const room of rooms) {
      expect(existsSync(join(root, room, 'README.md')), `${room}/README.md`).toBe(true)
      const text = read(join(room, 'README.md'))
      expect(text, room).toMatch(/own/i)
      expect(text, room).toMatch(/must not know/i)
    }
  })
})
