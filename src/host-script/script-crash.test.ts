import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FixtureHost, isRoot, shells } from './fixture-host.ts'

/** What holds after every crash: our request file never lies there without a request, and requests are whole. */
function expectSound(host: FixtureHost): void {
  if (host.isAsked()) expect(host.names()).toEqual(['a'])
  for (const name of host.names())
    expect(Object.keys(host.read(name)).slice(0, 2), `keys of ${name}`).toEqual(['reason', 'since'])
}

async function expectRecovery(host: FixtureHost, args: readonly string[]): Promise<void> {
  expect(await host.run(...args, '--timeout', '10')).toMatchObject({ code: 0 })
  expect(host.isAsked()).toBe(args[0] !== 'done')
  expect(await host.run('done', 'a', '--timeout', '10')).toMatchObject({ code: 0, stderr: '' })
  expect(host.leftovers()).toEqual([])
}

/** In front of the commands that change files: kills everything before or after the n-th of them. */
function armed(host: FixtureHost): Record<string, string> {
  const folder = join(host.folder, 'bin')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'count'), '0\n')
  for (const command of ['ln', 'mkdir', 'mv', 'rm', 'sync']) {
    const path = join(folder, command)
    const lines = [
      '#!/bin/sh',
      `read -r count < ${folder}/count`,
      'count=$((count + 1))',
      `echo $count > ${folder}/count`,
      '[ "$CRASH" != "before $count" ] || kill -9 0',
      `PATH=$REAL_PATH ${command} "$@"`,
      'code=$?',
      '[ "$CRASH" != "after $count" ] || kill -9 0',
      'exit $code',
    ]
    writeFileSync(path, `${lines.join('\n')}\n`)
    chmodSync(path, 0o755)
  }
  return { PATH: `${folder}:${process.env['PATH']}`, REAL_PATH: process.env['PATH'] ?? '' }
}

describe.skipIf(!isRoot).concurrent('killed at any step', { timeout: 60_000 }, () => {
  test.each([
    { before: [], args: ['request', 'a', '--reason', 'x'], least: 9 },
    { before: [['request', 'a']], args: ['fail', 'a', 'broken'], least: 5 },
    { before: [['request', 'a']], args: ['done', 'a'], least: 6 },
  ])('of $args.0, it leaves what the next one can go on from', async ({ before, args, least }) => {
    for (const when of ['before', 'after']) {
      let step = 1
      for (; ; step++) {
        const host = new FixtureHost()
        try {
          for (const earlier of before) await host.run(...earlier)
          const { code } = await host.start(args, { ...armed(host), CRASH: `${when} ${step}` }).ended
          expectSound(host)
          await expectRecovery(host, args)
          if (code === 0) break
          expect(code, 'it was killed, or it ended well').toBe(null)
        } finally {
          host.remove()
        }
      }
      expect(step, 'steps').toBeGreaterThan(least)
    }
  })
})

describe.concurrent.each(shells)('killed at any time, with $shell', ({ argv, mayRun }) => {
  test.skipIf(!mayRun)(
    'it leaves what the next one can go on from',
    { timeout: 60_000 },
    async ({ onTestFinished }) => {
      const host = new FixtureHost(argv)
      onTestFinished(() => host.remove())
      let killed = 0
      for (let round = 0; round < 30; round++) {
        const args = round % 3 === 2 ? ['done', 'a'] : ['request', 'a']
        const process = host.start(args)
        await sleep(Math.random() * 150)
        process.kill()
        if ((await process.ended).code === null) killed++
        expectSound(host)
      }
      expect(killed, 'kills that came in time').toBeGreaterThan(3)
      await expectRecovery(host, ['request', 'a'])
    },
  )
})
