import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { fettle, fromBundle, repository, temporaryHome } from '../support/fettle-process.ts'
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

/**
 * `npx fettle` reads the sources anew each time, which takes it three seconds; that it does so is tested elsewhere. Here
 * the same words run the bundle.
 */
const programs = mkdtempSync(join(tmpdir(), 'fettle-docs-'))
afterAll(() => rmSync(programs, { recursive: true, force: true }))
writeFileSync(
  join(programs, 'npx'),
  `#!/bin/sh\n[ "$1" = fettle ] || exit 64\nshift\nexec ${fromBundle.join(' ')} "$@"\n`,
  {
    mode: 0o755,
  },
)

describe('commands in the docs', () => {
  test.each(blocks)('$where runs as it is written', { timeout: 300_000 }, async ({ script }) => {
    const { code, stdout, stderr } = await fettle(['-euo', 'pipefail', '-c', script], {
      home: home.path,
      program: ['bash'],
      deadlineMs: 280_000,
      env: {
        PATH: `${programs}:${join(repository, 'node_modules/.bin')}:${join(repository, 'bin')}:${process.env['PATH']}`,
      },
    })
    expect(code, stdout + stderr).toBe(0)
    expect(leftoversOf(home.path)).toMatchObject({ processes: [], files: [] })
  })
})
