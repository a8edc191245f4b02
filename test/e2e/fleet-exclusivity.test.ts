import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runExclusivity } from '../load/exclusivity.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { startFettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'
import { patient, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

const schedules = 200

test('three controllers, some of the time all in the belief to lead, never exceed the budget and lose no request, whatever goes wrong', async (context) => {
  const seed = Number(process.env['EXCLUSIVITY_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`exclusivity: seed ${seed}; repeat with: npm run exclusivity -- --schedules ${schedules} --seed ${seed}`)
  const ground = await prepareQueue(context)
  const nodes = await Promise.all(Array.from({ length: 6 }, () => ground.addNode()))
  const { problems, ...figures } = await runExclusivity({ ...ground, seed, schedules, nodes })
  console.log(`exclusivity: ${JSON.stringify(figures)}`)
  expect(problems).toEqual([])
  expect(figures.schedules).toBe(schedules)
  // A run in which nothing went wrong would prove nothing.
  expect(figures.kills).toBeGreaterThan(schedules / 10)
  expect(figures.atWork).toBeGreaterThan(schedules)
  expect(figures.cordons).toBeGreaterThan(schedules)
}, 600_000)

test('a run of its own, ended by Ctrl-C, takes its cluster down', async () => {
  const home = temporaryHome()
  try {
    const before = leftoversOf(home.path)
    const program = ['npm', 'run', 'exclusivity', '--']
    const running = startFettle(['--schedules', '10000', '--seed', '1'], { home: home.path, program })
    await running.untilSaid('6 nodes are ready')
    await sleep(2_000)
    running.signal('SIGINT', 'group')
    await running.finished
    expect(running.said()).toContain('got SIGINT: taking the cluster down')
    // npm itself may end before what it started.
    await eventually(() => expect(newSince(before, leftoversOf(home.path), 'exclusivity')).toEqual(nothing), patient)
    expect(clustersIn(home.path)).toEqual([])
  } finally {
    await home.remove()
  }
})

function clustersIn(home: string): string[] {
  const folder = join(home, 'clusters')
  return existsSync(folder) ? readdirSync(folder) : []
}
