import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from './e2e-cluster.ts'

/** A git repository with a work tree, as a person has it. */
export interface SyncRepository {
  readonly folder: string
  /** Writes files, removes those that are given as undefined, and commits; answers the commit. */
  commit(subject: string, files: Readonly<Record<string, string | undefined>>): string
  git(...args: readonly string[]): string
}

export function makeRepository(test: Test): SyncRepository {
  const folder = mkdtempSync(join(tmpdir(), 'fettle-sync-'))
  test.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false']
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', folder, ...identity, ...args], { encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  return {
    folder,
    git,
    commit(subject, files) {
      for (const [path, text] of Object.entries(files)) {
        const file = join(folder, path)
        if (text === undefined) rmSync(file)
        else {
          mkdirSync(dirname(file), { recursive: true })
          writeFileSync(file, text)
        }
      }
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', subject)
      return git('rev-parse', 'HEAD')
    },
  }
}
