import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { fettle, fromSources, repository, startFettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'

const home = temporaryHome()
const before = leftoversOf(home.path)
const left = () => newSince(before, leftoversOf(home.path), 'demo')
afterAll(() => home.remove())

test('npm run demo -- --once needs no person, ends with its summary and leaves nothing', {
  timeout: 300_000,
}, async () => {
  const { code, stdout, stderr, seconds } = await fettle(['--once'], {
    home: home.path,
    cwd: repository,
    program: ['npm', 'run', '--silent', 'demo', '--'],
    deadlineMs: 280_000,
  })
  console.log(`demo --once: ${seconds.toFixed(1)} s`)
  expect(stderr).toContain('cluster demo is gone')
  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^demo: 12 nodes/)
  // A pipe is not a screen.
  expect(stdout + stderr).not.toContain('\u001b')
  expect(left()).toEqual(nothing)
})

test('Ctrl-C in the middle of the demo leaves nothing', async () => {
  const demo = startFettle(['demo'], { home: home.path, program: fromSources })
  await demo.untilSaid('12 nodes are ready')
  await sleep(2_000)
  demo.signal('SIGINT', 'group')
  const { code, stderr } = await demo.finished
  expect(stderr).toContain('cluster demo is gone')
  expect(code).toBe(130)
  expect(left()).toEqual(nothing)
})
