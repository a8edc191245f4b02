import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { clusterFolder, controlPlaneProgram, places } from '../../src/dev/index.ts'
import { type FettleOptions, fettle, fromSources, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'
import { plainReport } from '../support/shared-cluster.ts'

const home = temporaryHome()
const scratch = mkdtempSync(join(tmpdir(), 'fettle-refusals-'))
const isRoot = process.getuid?.() === 0
const before = leftoversOf(home.path)
const left = () => newSince(before, leftoversOf(home.path), 'refused')
afterAll(async () => {
  await home.remove()
  rmSync(scratch, { recursive: true, force: true })
})

let folders = 0
function emptyFolder(): string {
  const folder = join(scratch, String(++folders))
  mkdirSync(folder)
  return folder
}

/** Runs a command that must be refused: exit code 1, no trace of the program's insides, nothing left. */
async function refusal(args: readonly string[], options: FettleOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await fettle(args, { home: home.path, ...options })
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).not.toMatch(/^\s+at /m)
  expect(left()).toEqual(nothing)
  return stderr.trim()
}

const still = 'Commands that name a cluster of their own (--kubeconfig, --context) work without it.'
const up = ['dev', 'up', '--name', 'refused', '--nodes', '1']

describe('what is missing is named in one sentence, with what still works', () => {
  test('Go', async () => {
    const said = await refusal(up, { env: { PATH: emptyFolder(), FETTLE_CACHE: emptyFolder() } })
    expect(said).toBe(`fettle: Go is missing: version 1.26 or newer builds the embedded control plane, once. ${still}`)
  })

  test('a newer Go', async () => {
    const folder = emptyFolder()
    writeFileSync(join(folder, 'go'), '#!/bin/sh\necho go1.20.14\n')
    chmodSync(join(folder, 'go'), 0o755)
    const said = await refusal(up, {
      env: { PATH: `${folder}:${process.env['PATH']}`, FETTLE_CACHE: emptyFolder() },
    })
    expect(said).toBe(
      `fettle: Go 1.20 is too old: version 1.26 or newer builds the embedded control plane, once. ${still}`,
    )
  })

  test('modules that cannot be fetched', async () => {
    const env = { FETTLE_CACHE: emptyFolder(), GOMODCACHE: emptyFolder(), GOPROXY: 'off', GOFLAGS: '' }
    const said = await refusal(up, { env })
    expect(said).toContain('module lookup disabled by GOPROXY=off')
  })

  test.skipIf(!isRoot)('disk space (needs root for a small disk)', async () => {
    const cache = emptyFolder()
    const small = `mount -t tmpfs -o size=64m small ${cache} && exec "$@"`
    const said = await refusal(up, {
      env: { FETTLE_CACHE: cache },
      program: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', small, 'sh', ...fromSources],
    })
    expect(said).toMatch(
      new RegExp(
        `^fettle: ${cache} has 0\\.1 GiB free, the first build needs 5: free some, or name another place by FETTLE_CACHE\\.`,
      ),
    )
  })

  test.skipIf(!isRoot)('root, for real nodes, before anything is built (needs root to become nobody)', async () => {
    const said = await refusal([...up, '--real-nodes', '1'], { ...asNobody(emptyFolder()) })
    expect(said).toBe(
      'fettle: Real nodes boot machines and need root: run the same line with sudo. Simulated nodes work without.',
    )
  })
})

/** Somebody without rights, with a home and an empty cache of his own. */
function asNobody(folder: string): FettleOptions {
  chmodSync(scratch, 0o755)
  chmodSync(folder, 0o777)
  return {
    home: join(folder, 'state'),
    env: { HOME: folder, FETTLE_CACHE: join(folder, 'cache'), TMPDIR: folder },
    program: ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...fromSources],
    cwd: folder,
  }
}

describe.skipIf(!isRoot)('somebody without root (needs root to become nobody)', () => {
  test('has a cluster of simulated nodes all the same, and leaves nothing', async () => {
    const folder = emptyFolder()
    const options = asNobody(folder)
    const built = await controlPlaneProgram(plainReport(), places())
    const programs = join(folder, 'cache', 'programs')
    cpSync(join(built, '..'), join(programs, built.split('/').at(-2) ?? ''), { recursive: true })
    for (const path of [join(folder, 'cache'), programs, join(programs, built.split('/').at(-2) ?? '')])
      chmodSync(path, 0o777)
    try {
      const brought = await fettle(up, options)
      expect(brought.stderr).toContain('1 nodes are ready')
      expect(brought.code).toBe(0)
    } finally {
      await fettle(['dev', 'down', '--name', 'refused'], options)
    }
    expect(leftoversOf(options.home ?? '')).toMatchObject({ processes: [], files: [] })
  })
})

describe('input that cannot be right', () => {
  test.each([
    [
      ['dev', 'up', '--nodes', 'many'],
      "option '--nodes <count>' argument 'many' is invalid. Write a whole number from 0 to 10000.",
    ],
    [
      ['dev', 'up', '--zones', '0'],
      "option '--zones <count>' argument '0' is invalid. Write a whole number from 1 to 26.",
    ],
    [
      ['dev', 'up', '--name', '../escape'],
      "'../escape' is not a cluster name: use lower-case letters, digits and dashes, at most 30",
    ],
    [
      ['dev', 'down', '--name', '..'],
      "'..' is not a cluster name: use lower-case letters, digits and dashes, at most 30",
    ],
    [
      ['dev', 'kubectl', '--name', 'none', '--', 'get', 'nodes'],
      'there is no cluster named none; `fettle dev up --name none` makes it, `fettle dev status` lists all',
    ],
    [['dev', 'fly'], "unknown command 'fly'"],
  ])('%j', async (args, sentence) => {
    const said = await refusal(args)
    expect(said.split('\n')[0]?.replace(/^(fettle|error): /, '')).toBe(sentence)
  })

  test('never reaches outside the folder of clusters', () => {
    for (const name of ['..', 'a/b', '', 'A', '-a', 'a'.repeat(31)])
      expect(() => clusterFolder(name, { home: '/h', cache: '/c' })).toThrow('is not a cluster name')
  })
})
