import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { fettle, repository, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf } from '../support/leftovers.ts'

/** Blocks that start with ```sh test are run as they stand, each in a shell of its own that stops at the first fault. */
const pages = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: repository, encoding: 'utf8' })
const blocks = pages
  .split('\0')
  .filter(Boolean)
  .flatMap((page) =>
    [...readFileSync(join(repository, page), 'utf8').matchAll(/^```sh test\n(.*?)^```$/gms)].map((match, index) => ({
      where: `${page}, block ${index + 1}`,
      script: match[1] ?? '',
    })),
  )

const home = temporaryHome()
afterAll(() => home.remove())

describe('commands in the docs', () => {
  test.each(blocks)('$where runs as it is written', { timeout: 300_000 }, async ({ script }) => {
    const { code, stdout, stderr } = await fettle(['-euo', 'pipefail', '-c', script], {
      home: home.path,
      program: ['bash'],
      deadlineMs: 280_000,
      env: { PATH: `${join(repository, 'node_modules/.bin')}:${join(repository, 'bin')}:${process.env['PATH']}` },
    })
    expect(code, stdout + stderr).toBe(0)
    expect(leftoversOf(home.path)).toMatchObject({ processes: [], files: [] })
  })
})
