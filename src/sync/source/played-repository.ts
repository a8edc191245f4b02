import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export type RawEntry = readonly [mode: string, name: string | Buffer, id: string]

/** A real repository in a folder of its own, for tests. */
export interface PlayedRepository {
  readonly path: string
  git(...args: readonly string[]): string
  /** Puts files there, undefined takes one away, and commits all of it. Gives the id. */
  commit(files: Readonly<Record<string, string | Buffer | undefined>>, message?: string): string
  blob(content: string | Buffer): string
  /** A folder as no git command would make it. */
  tree(entries: readonly RawEntry[]): string
  /** A commit of such a folder, on the branch. */
  commitTree(tree: string, branch?: string): string
  remove(): void
}

export function playRepository({ objectFormat = 'sha1' } = {}): PlayedRepository {
  const path = mkdtempSync(join(tmpdir(), 'fettle-source-'))
  const call = (args: readonly string[], input: string | Buffer = '') =>
    execFileSync('git', ['-C', path, ...args], { env: playedEnvironment(), input, stdio: 'pipe' })
      .toString()
      .trim()
  call(['init', '--quiet', '--initial-branch=main', `--object-format=${objectFormat}`])
  const store = (type: string, content: string | Buffer) =>
    call(['hash-object', '-t', type, '-w', '--literally', '--stdin'], content)
  return {
    path,
    git: (...args) => call(args),
    commit: (files, message = 'change') => {
      for (const [name, content] of Object.entries(files)) {
        const place = join(path, name)
        mkdirSync(dirname(place), { recursive: true })
        if (content === undefined) rmSync(place)
        else writeFileSync(place, content)
      }
      call(['add', '--all', '.'])
      call(['commit', '--quiet', '--allow-empty', '-F', '-'], message)
      return call(['rev-parse', 'HEAD'])
    },
    blob: (content) => store('blob', content),
    tree: (entries) =>
      store(
        'tree',
        Buffer.concat(
          entries.flatMap(([mode, name, id]) => [
            Buffer.from(`${mode} `),
            Buffer.from(name),
            Buffer.alloc(1),
            Buffer.from(id, 'hex'),
          ]),
        ),
      ),
    commitTree: (tree, branch = 'main') => {
      const id = call(['commit-tree', tree, '-m', 'raw'])
      call(['update-ref', `refs/heads/${branch}`, id])
      return id
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Nothing of the machine that the tests run on. */
function playedEnvironment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_AUTHOR_DATE: '1700000000 +0100',
    GIT_COMMITTER_NAME: 'Grace',
    GIT_COMMITTER_EMAIL: 'grace@example.org',
    GIT_COMMITTER_DATE: '1700000060 +0000',
  }
}
