import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type GitSource, openSource, type SourceOptions } from './open-source.ts'
import { type PlayedRepository, playRepository } from './played-repository.ts'

const signal = AbortSignal.timeout(600_000)
let repository: PlayedRepository
let cleanUps: (() => void)[] = []
beforeEach(() => {
  repository = playRepository()
  cleanUps = [() => repository.remove()]
})
afterEach(() => {
  for (const cleanUp of cleanUps.reverse()) cleanUp()
})

const open = async (ref: SourceOptions['ref'] = { branch: 'main' }, url = repository.path): Promise<GitSource> => {
  const source = await openSource({ url, ref, cacheFolder: '/nonexistent', signal })
  cleanUps.push(() => source.close())
  return source
}
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'fettle-source-'))
  cleanUps.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('the newest commit', () => {
  test('is told with all that is known of it', async () => {
    const sha = repository.commit({ 'a.yaml': 'a' }, 'Add a\n\nbecause\n\nSync-Allow-Deletes: 3\n')
    expect(await (await open()).fetch(signal)).toEqual({
      sha,
      author: 'Ada <ada@example.org>',
      at: '2023-11-14T22:14:20.000Z',
      subject: 'Add a',
      trailers: { 'Sync-Allow-Deletes': '3' },
    })
  })

  test.for([
    ['its folder', () => repository.path],
    ['a path from here', () => relative(process.cwd(), repository.path)],
    ['its .git', () => join(repository.path, '.git')],
    ['a file:// URL', () => pathToFileURL(repository.path).href],
    ['a bare clone', (): string => bareClone()],
    ['a linked work tree', (): string => linkedTree()],
  ] as const)('is found by %s', async ([, url]) => {
    const sha = repository.commit({ 'a.yaml': 'a' })
    const source = await open({ branch: 'main' }, url())
    expect((await source.fetch(signal)).sha).toBe(sha)
    expect((await source.files(sha, '', signal)).map(({ path }) => path)).toEqual(['a.yaml'])
  })
  const bareClone = () => {
    const path = join(folder(), 'bare')
    repository.git('clone', '--quiet', '--bare', '.', path)
    return path
  }
  const linkedTree = () => {
    const path = join(folder(), 'linked')
    repository.git('worktree', 'add', '--quiet', '-b', 'linked', path)
    return path
  }

  test('of a branch, a tag, a pinned commit, or of HEAD', async () => {
    const first = repository.commit({ a: '1' })
    repository.git('tag', '-a', '-m', 'one', 'v1')
    repository.git('branch', 'team/one')
    const second = repository.commit({ a: '2' })
    const shaOf = async (ref: SourceOptions['ref']) => (await (await open(ref)).fetch(signal)).sha
    expect(await shaOf({ branch: 'team/one' })).toBe(first)
    expect(await shaOf({ tag: 'v1' })).toBe(first)
    expect(await shaOf({ commit: first })).toBe(first)
    expect(await shaOf({ commit: first, branch: 'main' })).toBe(first)
    expect(await shaOf({})).toBe(second)
    await expect(shaOf({ commit: second, branch: 'team/one' })).rejects.toMatchObject({ code: 'RefGone' })
  })

  test('is seen by one that looked before, also after the repository was packed', async () => {
    repository.commit({ a: '1' })
    const source = await open()
    await source.fetch(signal)
    const second = repository.commit({ a: '2' })
    expect((await source.fetch(signal)).sha).toBe(second)
    repository.git('gc', '--quiet', '--prune=now')
    expect((await source.fetch(signal)).sha).toBe(second)
    const third = repository.commit({ a: '3' })
    repository.git('pack-refs', '--all')
    expect((await source.fetch(signal)).sha).toBe(third)
    expect((await source.files(third, '', signal))[0]?.bytes.toString()).toBe('3')
  })

  test.for([
    ['no such branch', { branch: 'mian' }, 'RefGone', 'There is no branch mian in'],
    ['no such branch, and which ones there are', { branch: 'mian' }, 'RefGone', 'It has main. Name one'],
    ['no such tag', { tag: 'v9' }, 'RefGone', 'it has no tag yet'],
    ['no such commit', { commit: 'e'.repeat(40) }, 'RefGone', 'no commit eeeeeeeeeeee'],
  ] as const)('%s', async ([, ref, code, message]) => {
    repository.commit({ a: '1' })
    const work = (await open(ref)).fetch(signal)
    await expect(work).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  test('a branch that was deleted is gone', async () => {
    repository.commit({ a: '1' })
    repository.git('branch', 'side')
    const source = await open({ branch: 'side' })
    await source.fetch(signal)
    repository.git('branch', '-D', 'side')
    await expect(source.fetch(signal)).rejects.toMatchObject({ code: 'RefGone' })
  })

  test.for([{}, { branch: 'main' }])('a repository without commits has none: %j', async (ref) => {
    await expect((await open(ref)).fetch(signal)).rejects.toThrow('it has no commit yet')
  })

  test.for([
    ['a folder without a repository', (): string => folder(), 'is no git repository'],
    ['no folder', (): string => '/nonexistent/repo', 'is not there'],
    ['a file', (): string => join(repository.path, '.git', 'config'), 'is no git repository'],
  ] as const)('%s is no repository', async ([, url, message]) => {
    await expect(open({}, url())).rejects.toMatchObject({ code: 'NotThere', message: expect.stringContaining(message) })
  })
})

describe('the files of a commit', () => {
  test('are all below the path, sorted, with their own bytes', async () => {
    const binary = Buffer.from([0, 255, 13, 10, 0])
    const file = (name: string, content: string | Buffer) => ['100644', name, repository.blob(content)] as const
    const inner = repository.tree([file('z.bin', binary)])
    const apps = repository.tree([file('a.yaml', ''), ['40000', 'a', inner], file('b.yaml', 'b: $Id$\r\n')])
    const sha = repository.commitTree(
      repository.tree([
        // A checkout would change them by these; what is committed counts.
        file('.gitattributes', '*.yaml text eol=lf ident filter=evil\n'),
        ['40000', 'apps', apps],
        ['40000', 'apps-two', inner],
        ['100755', 'run.sh', repository.blob('x')],
      ]),
    )
    const source = await open()
    const files = await source.files(sha, './apps/', signal)
    expect(files.map(({ path, bytes }) => [path, bytes.toString('latin1')])).toEqual([
      ['apps/a.yaml', ''],
      ['apps/a/z.bin', binary.toString('latin1')],
      ['apps/b.yaml', 'b: $Id$\r\n'],
    ])
    expect(files[0]?.blob).toBe(repository.blob(''))
    expect(await source.files(sha, '', signal)).toHaveLength(6)
  })

  test('are those of the commit that was named, whatever came later', async () => {
    const first = repository.commit({ 'a.yaml': '1' })
    repository.commit({ 'a.yaml': '2' })
    expect((await (await open()).files(first, '', signal))[0]?.bytes.toString()).toBe('1')
  })

  test.for([
    ['a path that is not there', 'nowhere', 'PathMissing'],
    ['a path below a file', 'apps/a.yaml/b', 'PathMissing'],
    ['a file', 'apps/a.yaml', 'PathMissing'],
    ['a path in another case', 'Apps', 'PathMissing'],
    ['a path out of the repository', '../apps', 'Refused'],
  ] as const)('%s is a fault, never an empty list', async ([, path, code]) => {
    const sha = repository.commit({ 'apps/a.yaml': 'a' })
    const source = await open()
    await expect(source.files(sha, path, signal)).rejects.toMatchObject({ code })
  })

  test.for(['HEAD', 'main', '', 'a'.repeat(39), `${'a'.repeat(40)}\nHEAD`])(
    '%j is not asked for as a commit',
    async (sha) => {
      repository.commit({ a: '1' })
      await expect((await open()).treeId(sha, '', signal)).rejects.toMatchObject({ code: 'Refused' })
    },
  )

  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n'
  test.for([
    ['a symbolic link', () => [['120000', 'link', repository.blob('/etc/passwd')]], 'Symlink', 'apps/link'],
    ['a submodule', () => [['160000', 'module', 'e'.repeat(40)]], 'Submodule', 'apps/module'],
    [
      'a pointer in place of a manifest',
      () => [['100644', 'big.yaml', repository.blob(pointer)]],
      'LargeFilePointer',
      'apps/big.yaml',
    ],
    [
      'a pointer in JSON',
      () => [['100644', 'big.JSON', repository.blob(pointer)]],
      'LargeFilePointer',
      'apps/big.JSON',
    ],
    ['the folder above', () => [['40000', '..', repository.tree([])]], 'HostileName', '"apps/.."'],
    ['a folder of git', () => [['40000', '.GIT', repository.tree([])]], 'HostileName', '"apps/.GIT"'],
    ['a separator in a name', () => [['100644', '../../x', repository.blob('')]], 'HostileName', '"apps/../../x"'],
    ['an escape in a name', () => [['100644', 'a\u001b[2J', repository.blob('')]], 'HostileName', '"apps/a\\u001b[2J"'],
    [
      'names that differ in case',
      () => [
        ['100644', 'A', repository.blob('')],
        ['100644', 'a', repository.blob('')],
      ],
      'HostileName',
      'apps/a',
    ],
    ['a file that is missing', () => [['100644', 'a.yaml', 'e'.repeat(40)]], 'Damaged', 'apps/a.yaml'],
  ] as const)('%s among them is a fault that names the path', async ([, entries, code, path]) => {
    const apps = repository.tree(entries().map(([mode = '', name = '', id = '']) => [mode, name, id]))
    const sha = repository.commitTree(repository.tree([['40000', 'apps', apps]]))
    const source = await open()
    await expect(source.files(sha, '', signal)).rejects.toMatchObject({ code, path })
    await expect(source.files(sha, 'apps', signal)).rejects.toMatchObject({ code, path })
  })

  test('a pointer that is no manifest is a file like any other', async () => {
    const sha = repository.commit({ 'logo.png': pointer })
    expect(await (await open()).files(sha, '', signal)).toHaveLength(1)
  })

  test('what lies beside the path disturbs nobody', async () => {
    const apps = repository.tree([['100644', 'a.yaml', repository.blob('a')]])
    const link = repository.blob('/etc/passwd')
    const sha = repository.commitTree(
      repository.tree([
        ['120000', 'LINK', link],
        ['40000', 'apps', apps],
        ['120000', 'link', link],
      ]),
    )
    const source = await open()
    expect(await source.files(sha, 'apps', signal)).toHaveLength(1)
    await expect(source.files(sha, 'link', signal)).rejects.toMatchObject({ code: 'Symlink' })
  })

  test('a folder that holds itself a million times is given up early', async () => {
    let tree = repository.tree([['100644', 'a', repository.blob('a')]])
    for (let level = 0; level < 8; level++)
      tree = repository.tree(Array.from({ length: 10 }, (_, index) => ['40000', `f${index}`, tree] as const))
    const sha = repository.commitTree(tree)
    await expect((await open()).files(sha, '', signal)).rejects.toMatchObject({ code: 'TooLarge' })
  })

  test('a file that is too large is named, and the rest can still be read', async () => {
    const sha = repository.commit({ 'a/big.yaml': Buffer.alloc(17 * 1024 * 1024), 'b/small.yaml': 'a' })
    const source = await open()
    await expect(source.files(sha, '', signal)).rejects.toMatchObject({ code: 'TooLarge', path: 'a/big.yaml' })
    expect(await source.files(sha, 'b', signal)).toHaveLength(1)
  })

  test('a thousand are read without another process', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`apps/${index % 20}/${index}.yaml`, `n: ${index}\n`]),
    )
    const sha = repository.commit(files)
    const source = await open()
    await source.fetch(signal)
    const path = process.env['PATH']
    process.env['PATH'] = '/nonexistent'
    try {
      const read = await source.files(sha, '', signal)
      expect(Object.fromEntries(read.map((file) => [file.path, file.bytes.toString()]))).toEqual(files)
      expect(await source.treeId(sha, 'apps/3', signal)).toMatch(/^[\da-f]{40}$/)
      expect((await source.fetch(signal)).sha).toBe(sha)
    } finally {
      process.env['PATH'] = path
    }
  })

  test('a folder keeps its id while nothing in it changes', async () => {
    const first = repository.commit({ 'a/x': '1', 'b/x': '1' })
    const second = repository.commit({ 'b/x': '2' })
    const source = await open()
    const ids = (sha: string) => Promise.all(['a', 'b', ''].map((path) => source.treeId(sha, path, signal)))
    const [before, after] = [await ids(first), await ids(second)]
    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect(after[2]).not.toBe(before[2])
    expect(await source.treeId(first, 'nowhere', signal)).toBeUndefined()
  })
})

describe('the commits between two', () => {
  const subjects = async (from: string, to: string) => {
    const commits = await (await open()).commitsBetween(from, to, signal)
    return commits === 'rewritten' ? commits : commits.map(({ subject }) => subject)
  }

  test('are those of the branch itself, oldest first', async () => {
    const first = repository.commit({ a: '1' }, 'one')
    const second = repository.commit({ a: '2' }, 'two')
    repository.git('checkout', '--quiet', '-b', 'side', first)
    const side = repository.commit({ b: '1' }, 'side')
    repository.git('checkout', '--quiet', 'main')
    repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', 'side')
    const tip = repository.commit({ a: '3' }, 'three')
    expect(await subjects(first, tip)).toEqual(['two', 'merge', 'three'])
    expect(await subjects(second, tip)).toEqual(['merge', 'three'])
    expect(await subjects(`${repository.git('rev-parse', 'main~1')}`, tip)).toEqual(['three'])
    expect(await subjects(tip, tip)).toEqual([])
    // It came in by a merge: nothing was rewritten.
    expect(await subjects(side, tip)).toContain('three')
  })

  test('are unknown after a force push, also when the old ones are gone for good', async () => {
    const root = repository.commit({ a: '1' }, 'one')
    const old = repository.commit({ a: '2' }, 'two')
    repository.git('reset', '--quiet', '--hard', root)
    const fresh = repository.commit({ a: '3' }, 'three')
    expect(await subjects(old, fresh)).toBe('rewritten')
    expect(await subjects(old, root)).toBe('rewritten')
    repository.git('reflog', 'expire', '--expire=now', '--all')
    repository.git('gc', '--quiet', '--prune=now')
    expect(await subjects(old, fresh)).toBe('rewritten')
  })
})

describe('nothing of a repository or of this machine is run', () => {
  /** A program that leaves a mark when it is run. */
  const trap = () => {
    const place = folder()
    const program = join(place, 'trap')
    writeFileSync(program, `#!/bin/sh\ntouch ${place}/ran\nexit 1\n`)
    chmodSync(program, 0o755)
    return { program, hasRun: () => existsSync(join(place, 'ran')) }
  }
  const useAll = async (source: GitSource, from: string, to: string) => {
    await source.fetch(signal)
    await source.files(to, '', signal)
    await source.commitsBetween(from, to, signal)
  }
  const threeCommits = () => {
    const from = repository.commit({ 'a.yaml': '1' })
    repository.commit({ 'a.yaml': '2' })
    return { from, to: repository.commit({ 'a.yaml': '3' }) }
  }
  const configOf = (program: string) =>
    `[core]\n fsmonitor = ${program}\n sshCommand = ${program}\n pager = ${program}\n askPass = ${program}\n alternateRefsCommand = ${program}\n[log]\n showSignature = true\n[gpg]\n program = ${program}\n[alias]\n cat-file = !${program}\n[credential]\n helper = ${program}\n[uploadpack]\n packObjectsHook = ${program}\n[diff]\n external = ${program}\n[filter "evil"]\n smudge = ${program}\n clean = ${program}\n`

  test('not what its settings name', async () => {
    const { from, to } = threeCommits()
    const { program, hasRun } = trap()
    repository.git('config', 'include.path', join(folder(), 'x'))
    writeFileSync(join(repository.path, '.git', 'config'), `[core]\n bare = false\n${configOf(program)}`)
    await useAll(await open(), from, to)
    expect(hasRun()).toBe(false)
  })

  test('not its hooks, wherever they are', async () => {
    const { from, to } = threeCommits()
    const { program, hasRun } = trap()
    const hooks = join(repository.path, '.git', 'hooks')
    rmSync(hooks, { recursive: true, force: true })
    mkdirSync(hooks)
    for (const name of [
      'post-checkout',
      'reference-transaction',
      'post-index-change',
      'fsmonitor-watchman',
      'pre-auto-gc',
    ])
      symlinkSync(program, join(hooks, name))
    await useAll(await open(), from, to)
    expect(hasRun()).toBe(false)
  })

  test('not a way to fetch what a partial clone lacks', async () => {
    const { program, hasRun } = trap()
    const sha = repository.commitTree(repository.tree([['100644', 'a.yaml', 'e'.repeat(40)]]))
    for (const [key, value] of [
      ['core.repositoryFormatVersion', '1'],
      ['extensions.partialClone', 'origin'],
      ['remote.origin.promisor', 'true'],
      ['remote.origin.url', `ext::${program}`],
      ['protocol.ext.allow', 'always'],
      ['remote.origin.uploadpack', program],
    ] as const)
      repository.git('config', key, value)
    await expect((await open()).files(sha, '', signal)).rejects.toMatchObject({ code: 'Damaged', path: 'a.yaml' })
    expect(hasRun()).toBe(false)
  })

  test('nor the settings of the user, nor what the environment says', async () => {
    const { from, to } = threeCommits()
    const { program, hasRun } = trap()
    const home = folder()
    writeFileSync(join(home, '.gitconfig'), configOf(program))
    const set: Record<string, string> = {
      HOME: home,
      XDG_CONFIG_HOME: home,
      GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: program,
      // As inside a hook of another repository.
      GIT_DIR: home,
      GIT_OBJECT_DIRECTORY: home,
      GIT_EXEC_PATH: home,
      GIT_SSH_COMMAND: program,
      GIT_EXTERNAL_DIFF: program,
      GIT_TRACE2: join(home, 'trace'),
    }
    const before = Object.fromEntries(Object.keys(set).map((name) => [name, process.env[name]]))
    Object.assign(process.env, set)
    try {
      await useAll(await open(), from, to)
    } finally {
      for (const [name, value] of Object.entries(before))
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
    }
    expect(hasRun()).toBe(false)
    expect(readdirSync(home)).toEqual(['.gitconfig'])
  })
})

describe('a source', () => {
  test('says that git is missing, and what to do', async () => {
    repository.commit({ a: '1' })
    const path = process.env['PATH']
    process.env['PATH'] = '/nonexistent'
    try {
      await expect((await open()).fetch(signal)).rejects.toMatchObject({ code: 'NoGit' })
    } finally {
      process.env['PATH'] = path
    }
  })

  test('says that the repository went away, and finds another one in its place', async () => {
    repository.commit({ 'a.yaml': '1' })
    const source = await open()
    await source.fetch(signal)
    repository.remove()
    await expect(source.fetch(signal)).rejects.toMatchObject({ code: 'NotThere' })
    const other = playRepository()
    cleanUps.push(() => other.remove())
    const sha = other.commit({ 'a.yaml': '2' })
    other.git('clone', '--quiet', '.', repository.path)
    expect((await source.fetch(signal)).sha).toBe(sha)
    expect((await source.files(sha, '', signal))[0]?.bytes.toString()).toBe('2')
  })

  test('reads a repository with long ids', async () => {
    const long = playRepository({ objectFormat: 'sha256' })
    cleanUps.push(() => long.remove())
    const first = long.commit({ 'apps/a.yaml': '1' })
    const second = long.commit({ 'apps/a.yaml': '2' })
    const source = await open({ branch: 'main' }, long.path)
    expect((await source.fetch(signal)).sha).toBe(second)
    expect((await source.files(second, 'apps', signal)).map(({ bytes }) => bytes.toString())).toEqual(['2'])
    expect(await source.commitsBetween(first, second, signal)).toHaveLength(1)
  })

  test('is not even opened when it is not wanted any more', async () => {
    const stopped = AbortSignal.abort(new Error('enough'))
    const work = openSource({ url: repository.path, ref: {}, cacheFolder: '/nonexistent', signal: stopped })
    await expect(work).rejects.toThrow('enough')
  })

  test('says what is damaged', async () => {
    const sha = repository.commit({ 'a.yaml': 'content' })
    const blob = repository.git('rev-parse', `${sha}:a.yaml`)
    const place = join(repository.path, '.git/objects', blob.slice(0, 2), blob.slice(2))
    chmodSync(place, 0o644)
    writeFileSync(place, 'garbage')
    await expect((await open()).files(sha, '', signal)).rejects.toMatchObject({ code: 'Damaged' })
  })

  test('can be used no more once it is closed', async () => {
    const sha = repository.commit({ a: '1' })
    const life = new AbortController()
    const source = await openSource({ url: repository.path, ref: {}, cacheFolder: '/nonexistent', signal: life.signal })
    await source.fetch(signal)
    life.abort()
    await expect(source.files(sha, '', signal)).rejects.toThrow('was closed before')
  })

  test('stops when it is told to', async () => {
    const sha = repository.commit({ a: '1' })
    const source = await open()
    const stopped = AbortSignal.abort(new Error('enough'))
    await expect(source.fetch(stopped)).rejects.toThrow('enough')
    await expect(source.files(sha, '', stopped)).rejects.toThrow('enough')
    await expect(source.commitsBetween(sha, sha, stopped)).rejects.toThrow('enough')
    expect((await source.fetch(signal)).sha).toBe(sha)
  })
})

describe('waiting for a change', () => {
  const later = (ms: number) => AbortSignal.timeout(ms)

  test.for([
    ['a commit', (): void => void repository.commit({ a: '2' })],
    [
      'a commit whose ref is packed at once',
      (): void => {
        repository.commit({ a: '2' })
        repository.git('pack-refs', '--all')
      },
    ],
    ['a reset', (): void => void repository.git('update-ref', 'refs/heads/main', 'main~1')],
    ['a branch that goes away', (): void => void repository.git('update-ref', '-d', 'refs/heads/main')],
  ] as const)('ends soon after %s', async ([, change]) => {
    repository.commit({ a: '0' })
    const sha = repository.commit({ a: '1' })
    const source = await open()
    await source.fetch(signal)
    const moved = source.untilMoved(sha, later(4_000))
    await new Promise((resolve) => setTimeout(resolve, 100))
    change()
    // Without the watch it would be noticed after five seconds.
    await moved
  })

  test.for([
    [
      'a branch in folders that were not there',
      { branch: 'team/a/b' },
      (): void => void repository.git('branch', 'team/a/b'),
    ],
    ['HEAD on another branch', {}, (): void => void repository.git('checkout', '--quiet', '-b', 'other', 'HEAD~1')],
  ] as const)('ends soon after %s', async ([, ref, change]) => {
    repository.commit({ a: '0' })
    repository.commit({ a: '1' })
    const source = await open(ref)
    const sha = await source.fetch(signal).then(
      ({ sha: id }) => id,
      () => 'e'.repeat(40),
    )
    const moved = source.untilMoved(sha, later(4_000))
    await new Promise((resolve) => setTimeout(resolve, 100))
    change()
    await moved
  })

  test('ends at once when something changed before', async () => {
    const sha = repository.commit({ a: '1' })
    const source = await open()
    await source.fetch(signal)
    repository.commit({ a: '2' })
    await source.untilMoved(sha, later(4_000))
  })

  test('goes on while nothing changes but other files and branches', async () => {
    const sha = repository.commit({ a: '1' })
    const source = await open()
    await source.fetch(signal)
    const moved = source.untilMoved(sha, later(600))
    await new Promise((resolve) => setTimeout(resolve, 50))
    repository.git('branch', 'other')
    repository.git('status')
    await expect(moved).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('tells once of a branch that is gone, or that was rewritten', async () => {
    const sha = repository.commit({ a: '1' })
    const source = await open()
    await source.fetch(signal)
    repository.git('update-ref', '-d', 'refs/heads/main')
    await source.untilMoved(sha, later(4_000))
    await expect(source.fetch(signal)).rejects.toMatchObject({ code: 'RefGone' })
    await expect(source.untilMoved(sha, later(200))).rejects.toMatchObject({ name: 'TimeoutError' })
    repository.git('update-ref', 'refs/heads/main', sha)
    await source.untilMoved(sha, later(4_000))
    await source.fetch(signal)
    repository.commitTree(repository.tree([]))
    await source.untilMoved(sha, later(4_000))
    await source.fetch(signal)
    await expect(source.untilMoved(sha, later(200))).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
