import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { type Clock, systemClock } from '../../time/index.ts'
import { type GitSource, openSource, type SourceOptions } from './open-source.ts'
import { type PlayedRepository, playRepository } from './played-repository.ts'

/**
 * The other side is real, and so is all of git. Only ssh is played: it runs the command here instead of there, writes
 * down how it was called, and can be told to fail.
 */
const playedSsh = (folder: string) => `#!/bin/sh
echo "$*" >>${folder}/calls
if [ -f ${folder}/fails ]; then cat ${folder}/fails >&2; exit 255; fi
for command; do :; done
exec sh -c "$command"
`

const signal = AbortSignal.timeout(600_000)
const pathBefore = process.env['PATH'] ?? ''
let far: PlayedRepository
let folder = ''
let open: GitSource[] = []
beforeEach(() => {
  far = playRepository()
  folder = mkdtempSync(join(tmpdir(), 'fettle-mirror-'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'ssh'), playedSsh(folder))
  chmodSync(join(folder, 'bin', 'ssh'), 0o755)
  process.env['PATH'] = `${join(folder, 'bin')}:${pathBefore}`
  open = []
})
afterEach(() => {
  process.env['PATH'] = pathBefore
  for (const source of open) source.close()
  far.remove()
  rmSync(folder, { recursive: true, force: true })
})

const cache = () => join(folder, 'cache')
const source = async (ref: SourceOptions['ref'] = { branch: 'main' }, url?: string, clock: Clock = systemClock) => {
  const opened = await openSource({
    url: url ?? `git@far.example:${far.path}`,
    ref,
    cacheFolder: cache(),
    signal,
    clock,
  })
  open.push(opened)
  return opened
}
const failWith = (words: string | undefined) => {
  if (words === undefined) rmSync(join(folder, 'fails'))
  else writeFileSync(join(folder, 'fails'), `${words}\n`)
}
const mirrors = () => readdirSync(cache())
const gitDir = () => join(cache(), mirrors()[0] ?? '')
const textOf = async (from: GitSource, sha: string) =>
  (await from.files(sha, '', signal)).map(({ bytes }) => bytes.toString())

describe('a repository elsewhere', () => {
  test.for(['ssh://git@far.example', 'ssh://git@far.example:2222', 'git@far.example:', 'far.example:'])(
    'is read over %s',
    async (start) => {
      const first = far.commit({ 'a.yaml': '1' })
      const near = await source({ branch: 'main' }, `${start}${far.path}`)
      expect((await near.fetch(signal)).sha).toBe(first)
      far.commit({ 'a.yaml': '2' }, 'two')
      const third = far.commit({ 'a.yaml': '3' }, 'three')
      expect((await near.fetch(signal)).sha).toBe(third)
      expect(await textOf(near, third)).toEqual(['3'])
      expect(await near.commitsBetween(first, third, signal)).toMatchObject([{ subject: 'two' }, { subject: 'three' }])
      const calls = readFileSync(join(folder, 'calls'), 'utf8')
      expect(calls).toContain('-oBatchMode=yes -oStrictHostKeyChecking=yes')
      expect(calls).toContain("git-upload-pack '")
    },
  )

  test('gives a branch, a tag, its default branch, or a commit, and of all else nothing', async () => {
    const first = far.commit({ 'a.yaml': '1' })
    far.git('tag', '-a', '-m', 'one', 'v1')
    far.git('branch', 'team/one')
    const second = far.commit({ 'a.yaml': '2' })
    far.git('checkout', '--quiet', '-b', 'secret')
    const hidden = far.commit({ 'a.yaml': '3' })
    far.git('checkout', '--quiet', 'main')
    const shaOf = async (ref: SourceOptions['ref']) => (await (await source(ref)).fetch(signal)).sha
    expect(await shaOf({ branch: 'team/one' })).toBe(first)
    expect(await shaOf({ tag: 'v1' })).toBe(first)
    expect(await shaOf({})).toBe(second)
    expect(await shaOf({ commit: first })).toBe(first)
    expect(await shaOf({ commit: first, branch: 'main' })).toBe(first)
    await expect(shaOf({ commit: second, branch: 'team/one' })).rejects.toMatchObject({ code: 'RefGone' })
    await expect(shaOf({ commit: 'e'.repeat(40) })).rejects.toMatchObject({ code: 'RefGone' })
    await expect((await source()).treeId(hidden, '', signal)).rejects.toMatchObject({ code: 'RefGone' })
    expect(mirrors()).toHaveLength(1)
  })

  test('a pinned commit that is here is not asked for again', async () => {
    const first = far.commit({ 'a.yaml': '1' })
    await (await source({ commit: first })).fetch(signal)
    failWith('ssh: connect to host far.example port 22: Connection refused')
    expect((await (await source({ commit: first })).fetch(signal)).sha).toBe(first)
  })

  test('history that was rewritten is noticed', async () => {
    const root = far.commit({ 'a.yaml': '1' })
    const old = far.commit({ 'a.yaml': '2' })
    const near = await source()
    await near.fetch(signal)
    far.git('reset', '--quiet', '--hard', root)
    const fresh = far.commit({ 'a.yaml': '3' })
    expect((await near.fetch(signal)).sha).toBe(fresh)
    expect(await near.commitsBetween(old, fresh, signal)).toBe('rewritten')
  })

  test('a branch that goes away is gone, and does not stand in the way of another', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    far.git('branch', 'a')
    const near = await source({ branch: 'a' })
    await near.fetch(signal)
    far.git('branch', '-D', 'a')
    await expect(near.fetch(signal)).rejects.toMatchObject({ code: 'RefGone', isTransient: false })
    far.git('branch', 'a/b')
    expect((await (await source({ branch: 'a/b' })).fetch(signal)).sha).toBe(sha)
  })

  test('without commits has none', async () => {
    await expect((await source({})).fetch(signal)).rejects.toMatchObject({ code: 'RefGone' })
  })

  test.for([
    ['ssh: connect to host far.example port 22: Connection refused', 'Unreachable', true],
    ['git@far.example: Permission denied (publickey).', 'Denied', false],
    ['No ED25519 host key is known for far.example.\nHost key verification failed.', 'Denied', false],
    ['ERROR: Repository not found.', 'NotThere', false],
  ] as const)('that says %j is %s', async ([words, code, isTransient]) => {
    failWith(words)
    await expect((await source()).fetch(signal)).rejects.toMatchObject({ code, isTransient })
  })

  test('what holds what no honest git makes is not taken', async () => {
    far.commitTree(far.tree([['40000', '..', far.tree([['100644', 'a', far.blob('a')]])]]))
    await expect((await source()).fetch(signal)).rejects.toMatchObject({ code: 'Refused' })
  })
})

describe('the mirror', () => {
  test('is for our eyes only, and holds no hooks', async () => {
    far.commit({ 'a.yaml': '1' })
    await (await source()).fetch(signal)
    expect(statSync(cache()).mode & 0o777).toBe(0o700)
    expect(readdirSync(gitDir())).not.toContain('hooks')
    expect(mirrors()).toEqual([expect.stringMatching(/^[\w.-]+-[\da-f]{16}\.git$/)])
  })

  test('stays as it was when nothing can be fetched', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    await (await source()).fetch(signal)
    failWith('ssh: connect to host far.example port 22: Connection refused')
    const near = await source()
    await expect(near.fetch(signal)).rejects.toMatchObject({ code: 'Unreachable' })
    expect(await textOf(near, sha)).toEqual(['1'])
  })

  test.for([
    ['it is no repository any more', () => rmSync(join(gitDir(), 'HEAD'))],
    ['its settings are garbage', () => writeFileSync(join(gitDir(), 'config'), '[core\n')],
    ['its objects are gone', () => rmSync(join(gitDir(), 'objects'), { recursive: true })],
    ['an object is empty', () => damageObjects('')],
    ['an object is garbage', () => damageObjects('garbage')],
    [
      'a ref is garbage',
      () => {
        const refs = join(gitDir(), 'refs', 'fettle')
        for (const name of readdirSync(refs)) writeFileSync(join(refs, name), 'garbage\n')
      },
    ],
  ] as const)('is made anew when %s', async ([, damage]) => {
    far.commit({ 'a.yaml': '1' })
    const first = await source()
    await first.fetch(signal)
    damage()
    const sha = far.commit({ 'b.yaml': '2' })
    const near = await source()
    expect((await near.fetch(signal)).sha).toBe(sha)
    expect(await textOf(near, sha)).toEqual(['1', '2'])
    // One that had it open goes on as well.
    expect((await first.fetch(signal)).sha).toBe(sha)
    expect(await textOf(first, sha)).toEqual(['1', '2'])
    expect(mirrors()).toHaveLength(1)
  })
  const damageObjects = (content: string) => {
    for (const name of readdirSync(join(gitDir(), 'objects'), { recursive: true, encoding: 'utf8' })) {
      const place = join(gitDir(), 'objects', name)
      if (!statSync(place).isFile()) continue
      chmodSync(place, 0o644)
      writeFileSync(place, content)
    }
  }

  test('is shared by several that begin at the same moment', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    far.git('branch', 'side')
    const all = await Promise.all(['main', 'side', 'main', 'side'].map((branch) => source({ branch })))
    const commits = await Promise.all(all.map((near) => near.fetch(signal)))
    expect(commits.map((commit) => commit.sha)).toEqual([sha, sha, sha, sha])
    expect(mirrors()).toHaveLength(1)
  })

  test('is not shared by two users', async () => {
    far.commit({ 'a.yaml': '1' })
    await (await source({}, `one@far.example:${far.path}`)).fetch(signal)
    await (await source({}, `two@far.example:${far.path}`)).fetch(signal)
    expect(mirrors()).toHaveLength(2)
  })
})

describe('waiting for a change elsewhere', () => {
  /** Lets real processes come to their end while the clock stands still. */
  const settledAfter = async (clock: FakeClock, ms: number, isDone: () => boolean) => {
    await clock.advance(ms)
    for (let waitedMs = 0; waitedMs < 3_000 && !isDone() && clock.sleeping === 0; waitedMs += 10)
      await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const asks = () => readFileSync(join(folder, 'calls'), 'utf8').split('\n').length - 1
  const begin = async (ref: SourceOptions['ref'] = { branch: 'main' }) => {
    const clock = new FakeClock()
    const near = await source(ref, undefined, clock)
    const state = { moved: 0 }
    const wait = (sha: string) => void near.untilMoved(sha, signal).then(() => state.moved++)
    return { clock, near, state, wait }
  }

  test('asks every 15 seconds, and ends when there is something new', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    far.git('tag', '-a', '-m', 'one', 'v1')
    for (const ref of [{ branch: 'main' }, { tag: 'v1' }, {}]) {
      const { clock, near, state, wait } = await begin(ref)
      await near.fetch(signal)
      const before = asks()
      wait(sha)
      await settledAfter(clock, 13_400, () => state.moved > 0)
      expect(asks() - before).toBe(0)
      await settledAfter(clock, 3_200, () => state.moved > 0)
      expect(asks() - before).toBe(1)
      expect(state.moved).toBe(0)
      near.close()
    }
    const { clock, near, state, wait } = await begin()
    await near.fetch(signal)
    wait(sha)
    far.commit({ 'a.yaml': '2' })
    await settledAfter(clock, 16_600, () => state.moved > 0)
    expect(state.moved).toBe(1)
  })

  test('a branch that is gone is told once', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    const { clock, near, state, wait } = await begin()
    await near.fetch(signal)
    wait(sha)
    far.git('update-ref', '-d', 'refs/heads/main')
    await settledAfter(clock, 16_600, () => state.moved > 0)
    expect(state.moved).toBe(1)
    await expect(near.fetch(signal)).rejects.toMatchObject({ code: 'RefGone' })
    wait(sha)
    await settledAfter(clock, 40_000, () => state.moved > 1)
    expect(state.moved).toBe(1)
  })

  test('a host in trouble is told once, and asked less and less often', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    const { clock, near, state, wait } = await begin()
    await near.fetch(signal)
    failWith('ssh: connect to host far.example port 22: Connection refused')
    wait(sha)
    await settledAfter(clock, 16_600, () => state.moved > 0)
    expect(state.moved).toBe(1)
    await expect(near.fetch(signal)).rejects.toMatchObject({ code: 'Unreachable' })
    wait(sha)
    const before = asks()
    await settledAfter(clock, 50_000, () => state.moved > 1)
    expect(asks() - before).toBe(0)
    await settledAfter(clock, 20_000, () => state.moved > 1)
    expect(asks() - before).toBe(1)
    expect(state.moved).toBe(1)
    failWith(undefined)
    await settledAfter(clock, 140_000, () => state.moved > 1)
    expect(state.moved).toBe(2)
  })

  test('a pinned commit does not change', async () => {
    const sha = far.commit({ 'a.yaml': '1' })
    const { clock, near, state, wait } = await begin({ commit: sha })
    await near.fetch(signal)
    const before = asks()
    wait(sha)
    await settledAfter(clock, 100_000, () => state.moved > 0)
    expect(asks() - before).toBe(0)
    expect(state.moved).toBe(0)
  })
})
