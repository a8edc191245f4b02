import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/e2e-cluster.ts'
import { fettle, startFettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'

const home = temporaryHome()
const name = 'cut'
const before = leftoversOf(home.path)
const left = () => newSince(before, leftoversOf(home.path), name)
afterAll(() => home.remove())

describe('up, interrupted, leaves no process and no file', () => {
  test.each([
    { after: 'the process started', text: '', ms: 50, signal: 'SIGINT', to: 'group' },
    { after: 'the process started', text: '', ms: 300, signal: 'SIGINT', to: 'group' },
    { after: 'the process started', text: '', ms: 1_000, signal: 'SIGTERM', to: 'process' },
    { after: 'the first component', text: 'starting the control plane', ms: 100, signal: 'SIGINT', to: 'group' },
    { after: 'the first component', text: 'starting the control plane', ms: 1_000, signal: 'SIGTERM', to: 'process' },
    { after: 'the first component', text: 'starting the control plane', ms: 3_000, signal: 'SIGINT', to: 'process' },
    { after: 'the API server', text: 'is ready', ms: 100, signal: 'SIGTERM', to: 'group' },
  ] as const)('by $signal to the $to, $ms ms after $after', async ({ text, ms, signal, to }) => {
    const up = startFettle(['dev', 'up', '--name', name, '--nodes', '50'], { home: home.path })
    await up.untilSaid(text)
    await sleep(ms)
    up.signal(signal, to)
    const { code, signal: endedBy, stderr } = await up.finished
    // Before the program has begun, the system ends it.
    if (endedBy === null) {
      expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
      expect(stderr).toContain(`fettle: stopped by ${signal}\n`)
      expect(stderr).not.toMatch(/^\s+at /m)
    } else expect(endedBy).toBe(signal)
    expect(left()).toEqual(nothing)
    expect(existsSync(join(home.path, 'clusters')) ? readdirSync(join(home.path, 'clusters')) : []).toEqual([])
  })
})

describe('the first build, interrupted,', () => {
  test.each([
    ['SIGINT', 'while it looks for what to build', /go list/],
    ['SIGTERM', 'while it compiles or links', /\/tool\/\w+\/(compile|link)/],
  ] as const)('by %s %s, leaves no compiler running and no half-built file', async (signal, _moment, program) => {
    const cache = mkdtempSync(join(tmpdir(), 'fettle-cache-'))
    const env = { FETTLE_CACHE: cache, TMPDIR: cache }
    try {
      const up = startFettle(['dev', 'up', '--name', name], { home: home.path, env })
      await eventually(() => expect(left().processes.join('\n')).toMatch(program), { withinMs: 60_000 })
      const stoppedAt = Date.now()
      up.signal(signal, 'process')
      expect((await up.finished).code).toBe(signal === 'SIGINT' ? 130 : 143)
      expect(Date.now() - stoppedAt).toBeLessThan(30_000)
      expect(left()).toEqual(nothing)
      expect(leftoversOf(cache).files).toEqual([])
    } finally {
      rmSync(cache, { recursive: true, force: true })
    }
  })
})

test('a second Ctrl-C ends up at once; down then removes what is left', async () => {
  const up = startFettle(['dev', 'up', '--name', name, '--nodes', '3'], { home: home.path })
  await up.untilSaid('starting the control plane')
  await sleep(1_000)
  up.signal('SIGINT')
  await sleep(50)
  up.signal('SIGINT')
  expect((await up.finished).code).toBe(130)
  await fettle(['dev', 'down', '--name', name], { home: home.path })
  expect(left()).toEqual(nothing)
})

describe('a cluster that exists', () => {
  beforeAll(async () => {
    const up = await fettle(['dev', 'up', '--name', name, '--nodes', '1'], { home: home.path })
    expect(up.code).toBe(0)
  })

  test('is left running when a later up is interrupted', async () => {
    const more = startFettle(['dev', 'up', '--name', name, '--nodes', '400'], { home: home.path })
    await more.untilSaid('is ready')
    more.signal('SIGINT', 'group')
    expect((await more.finished).code).toBe(130)
    expect((await fettle(['dev', 'status', '--name', name], { home: home.path })).code).toBe(0)
  })

  test('loses a watching kubectl together with the fettle that started it', async () => {
    const watch = startFettle(['dev', 'kubectl', '--name', name, '--', 'get', 'namespaces', '--watch'], {
      home: home.path,
    })
    await watch.untilSaid('kube-system')
    watch.signal('SIGTERM', 'process')
    await watch.finished
    expect(left().processes.filter((process) => process.includes('kubectl'))).toEqual([])
  })

  test('stays with up in the foreground until Ctrl-C, and goes with it', async () => {
    const up = startFettle(['dev', 'up', '--name', name, '--nodes', '1', '--foreground'], { home: home.path })
    await up.untilSaid('Ctrl-C takes the cluster down.')
    up.signal('SIGINT', 'group')
    const { code, stderr } = await up.finished
    expect(stderr).toContain(`cluster ${name} is gone`)
    expect(code).toBe(130)
    expect(left()).toEqual(nothing)
  })
})
