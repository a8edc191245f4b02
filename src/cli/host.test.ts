import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { addHostCommands } from './host.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-cli-host-'))
  vi.stubEnv('FETTLE_REQUEST_FILE', join(folder, 'required'))
  vi.stubEnv('FETTLE_PERMISSION_FILE', join(folder, 'in-progress'))
  vi.stubEnv('FETTLE_STATE_FOLDER', join(folder, 'state'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

async function host(args: readonly string[], signal = new AbortController().signal) {
  const seen = { out: '', err: '', code: -1 }
  const program = new Command().exitOverride()
  addHostCommands(program, {
    out: (text) => {
      seen.out += text
    },
    err: (text) => {
      seen.err += text
    },
    exitCode: (code) => {
      seen.code = code
    },
    progress: { write: () => undefined },
    nowMs: () => 0,
    signal,
  })
  await program.parseAsync(['host', ...args], { from: 'user' })
  return seen
}

// The script itself is tested in its own room; here, that every word and flag reaches it.
describe.skipIf(process.getuid?.() !== 0)('fettle host', () => {
  test('says to the script what it was told, and returns what that answers', async () => {
    expect(await host(['request', 'a', '--reason', 'two words', '--timeout', '5'])).toEqual({
      out: '',
      err: '',
      code: 0,
    })
    expect(existsSync(join(folder, 'required'))).toBe(true)
    expect(await host(['status', 'a'])).toEqual({ out: 'waiting\n', err: '', code: 75 })
    expect((await host(['status'])).out).toMatch(/^a\twaiting\t\S+\ttwo words\n$/)
    expect(await host(['wait', 'a', '--for', 'reboot', '--timeout', '0'])).toMatchObject({ code: 75, out: '' })
    expect(await host(['fail', 'a', 'not well'])).toMatchObject({ code: 0 })
    expect(await host(['status', 'a'])).toEqual({ out: 'failed\n', err: '', code: 4 })
    expect(await host(['done', 'a'])).toMatchObject({ code: 0 })
    expect(readdirSync(folder)).toEqual(['state'])
    expect(await host(['wait', 'a'])).toEqual({
      out: '',
      err: 'fettle host: there is no request a; fettle host request a makes one\n',
      code: 3,
    })
  })

  test('ends the script when it is stopped itself', async () => {
    await host(['request', 'a'])
    expect(await host(['wait', 'a'], AbortSignal.timeout(300))).toMatchObject({ code: 143 })
  })
})
