import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FixtureHost, shells, startProcess } from './fixture-host.ts'

const readmeScript = join(import.meta.dirname, '../../test/fixtures/scripts/kustodian-readme.sh')

/** The agent's part: permission for whoever asks, a moment later, and back when nobody asks any more. */
async function playAgent(host: FixtureHost, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(20)
    if (host.isAsked() && !existsSync(host.permissionFile)) host.grant()
    else if (!host.isAsked() && existsSync(host.permissionFile)) host.takePermissionBack()
  }
}

describe.each(shells)('many scripts at once, with $shell', { timeout: 90_000 }, ({ argv, mayRun }) => {
  const inShell = test
    .extend('host', ({ onTestFinished }) => {
      const host = new FixtureHost(argv)
      onTestFinished(() => host.remove())
      return host
    })
    .skipIf(!mayRun)

  inShell('the request file is there as long as one of them has a request', async ({ host }) => {
    const lost: string[] = []
    const lane = async (names: readonly string[]) => {
      for (const name of names) {
        await sleep(Math.random() * 30)
        expect(await host.run('request', name)).toMatchObject({ code: 0, stderr: '' })
        for (let look = 0; look < 5; look++) {
          if (!host.isAsked()) lost.push(name)
          await sleep(Math.random() * 10)
        }
        expect(await host.run('done', name)).toMatchObject({ code: 0, stderr: '' })
      }
    }
    // Few enough that the last one often leaves while the next one comes.
    const rounds = Array.from({ length: 10 }, (_, index) => `round-${index}`)
    await Promise.all(['a', 'b', 'c'].map((script) => lane(rounds.map((round) => `${script}-${round}`))))
    await Promise.all(Array.from({ length: 20 }, (_, index) => lane([`crowd-${index}`])))
    expect(lost).toEqual([])
    expect(host.leftovers()).toEqual([])
  })

  inShell('a script as it was published among them keeps what it asked for', async ({ host }) => {
    const stop = new AbortController()
    const agent = playAgent(host, stop.signal)
    const looks = `for i in 1 2 3 4 5; do test -f ${host.requestFile} || echo lost; sleep 0.2; done`
    const script = readFileSync(readmeScript, 'utf8')
      .replaceAll('/var/maintenance', join(host.folder, 'var/maintenance'))
      .replaceAll(/sleep \d+/g, 'sleep 0.1')
      .replace('# perform maintenance', looks)
    expect(script).toContain(looks)
    const helped = async (name: string) => {
      await sleep(Math.random() * 1_500)
      const codes: (number | null)[] = []
      for (const command of ['request', 'wait', 'done']) codes.push((await host.run(command, name)).code)
      return codes
    }
    const published = startProcess(['bash', '-c', script], {}).ended
    const all = await Promise.all(Array.from({ length: 5 }, (_, index) => helped(`script-${index}`)))
    const { code, stdout } = await published
    while (existsSync(host.permissionFile)) await sleep(20)
    stop.abort()
    await agent
    expect(all).toEqual(Array.from({ length: 5 }, () => [0, 0, 0]))
    expect({ code, lost: stdout.includes('lost') }).toEqual({ code: 0, lost: false })
    expect(host.leftovers()).toEqual([])
  })
})
