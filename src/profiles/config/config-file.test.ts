// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what this is about
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../time/index.ts'
import { ConfigFile } from './config-file.ts'
import { fixtureRegistry } from './fixture-registry.ts'
import type { Environment } from './variables.ts'

let folder = ''
let stop = new AbortController()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fettle-config-'))
  stop = new AbortController()
})

afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await rm(folder, { recursive: true })
})

const good = (seconds: number) => `intervals: {requeue: ${seconds}s}\n`

function follow({
  pollMs = 60_000,
  env = {} as Environment,
  path = join(folder, 'maintenance.yaml'),
  clock = systemClock,
} = {}) {
  const told = vi.fn()
  let reads = 0
  const file = new ConfigFile(path, {
    plugins: fixtureRegistry(),
    clock,
    env: () => {
      reads++
      return env
    },
    signal: stop.signal,
    pollMs,
  })
  file.subscribe(told)
  const until = (isSo: (state: ReturnType<ConfigFile['state']>) => boolean) =>
    vi.waitFor(() => expect(isSo(file.state())).toBe(true), { timeout: 10_000, interval: 10 })
  return { file, told, until, reads: () => reads }
}

/** In one step: a look between the emptying of a file and its writing sees another content. */
async function write(text: string): Promise<void> {
  await writeFile(join(folder, 'next'), text)
  await rename(join(folder, 'next'), join(folder, 'maintenance.yaml'))
}

test('a change is in force without a restart; a bad file leaves the last good one in force, and says so', async () => {
  await write(good(1))
  const { file, told, until } = follow()
  await until(({ config }) => config?.requeueMs === 1_000)
  expect(file.state()).toMatchObject({ problems: [], isCurrent: true, loadedAt: expect.any(Number) })
  const { hash } = file.state()

  await write('intervals: {requeue: soon}\n')
  await until(({ isCurrent }) => !isCurrent)
  expect(file.current()?.requeueMs).toBe(1_000)
  expect(file.state()).toMatchObject({ hash, problems: [{ severity: 'error', line: 1, column: 22 }] })

  await write(good(2))
  await until(({ config }) => config?.requeueMs === 2_000)
  expect(file.state()).toMatchObject({ problems: [], isCurrent: true })
  expect(file.state().hash).not.toBe(hash)
  expect(told).toHaveBeenCalledTimes(3)
})

test('a file that is not there is a problem, until it is', async () => {
  const path = join(folder, 'later', 'maintenance.yaml')
  const { file, until } = follow({ path, pollMs: 30 })
  await until(({ problems }) => problems.length > 0)
  expect(file.state()).toEqual({
    config: undefined,
    problems: [{ severity: 'error', line: 1, column: 1, path: '', message: 'it is not there; create it' }],
    isCurrent: false,
    loadedAt: undefined,
    hash: undefined,
  })
  expect(file.errors()).toEqual([`${path}:1:1: error: it is not there; create it`])
  await mkdir(join(folder, 'later'))
  await writeFile(path, good(3))
  await until(({ config }) => config?.requeueMs === 3_000)
  expect(file.errors()).toEqual([])
  await rm(path)
  await until(({ isCurrent }) => !isCurrent)
  expect(file.current()?.requeueMs).toBe(3_000)
})

test('what cannot be read is a problem', async () => {
  await mkdir(join(folder, 'maintenance.yaml'))
  const { file, until } = follow()
  await until(({ problems }) => problems.length > 0)
  expect(file.state().problems[0]?.message).toBe('it cannot be read (EISDIR); look at its rights')
})

test('the link of a mounted ConfigMap is followed to its next version', async () => {
  for (const [version, seconds] of [
    ['1', 1],
    ['2', 2],
  ] as const) {
    await mkdir(join(folder, `..${version}`))
    await writeFile(join(folder, `..${version}`, 'maintenance.yaml'), good(seconds))
  }
  await symlink('..1', join(folder, '..data'))
  await symlink(join('..data', 'maintenance.yaml'), join(folder, 'maintenance.yaml'))
  const { until } = follow()
  await until(({ config }) => config?.requeueMs === 1_000)
  await symlink('..2', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  await until(({ config }) => config?.requeueMs === 2_000)
})

test('the same content is read once, however often it is looked at or written', async () => {
  await write(good(1))
  const { told, until, reads } = follow({ pollMs: 5 })
  await until(({ config }) => config !== undefined)
  for (let time = 0; time < 5; time++) {
    await write(good(1))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(reads()).toBe(1)
  expect(told).toHaveBeenCalledTimes(1)
})

test('half a file is not taken for a whole one', async () => {
  await write(good(1))
  const whole = `${good(2)}profiles: [{name: rest}]\n`
  let isWhole = false
  // The rest of the file comes while it is given time to settle, however long this machine takes for either.
  const sleep: Clock['sleep'] = async (ms, signal) => {
    if (ms > 1_000) return systemClock.sleep(ms, signal)
    if (!isWhole) await write(whole)
    isWhole = true
  }
  const { file, told, until } = follow({ clock: { ...systemClock, sleep } })
  await until(({ config }) => config !== undefined)
  await write(good(2))
  await until(({ config }) => config?.profiles.has('rest') === true)
  expect(told).toHaveBeenCalledTimes(2)
  expect(file.state().isCurrent).toBe(true)
})

test('the environment is read at each load', async () => {
  const env: Record<string, string> = { EVERY: '4s' }
  await write('intervals: {requeue: "${EVERY}"}\n')
  const { until } = follow({ env })
  await until(({ config }) => config?.requeueMs === 4_000)
  env['EVERY'] = '5s'
  await write('intervals: {requeue: "${EVERY}"} # again\n')
  await until(({ config }) => config?.requeueMs === 5_000)
})
