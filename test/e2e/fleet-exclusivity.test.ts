import { expect, test } from 'vitest'
import { runExclusivity } from '../load/exclusivity.ts'
import { prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

const schedules = 200

test('three controllers, half of the time all in the belief to lead, never exceed the budget and lose no request, whatever goes wrong', async (context) => {
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
  expect(figures.terms).toBeGreaterThan(0)
  expect(figures.atWork).toBeGreaterThan(schedules)
  expect(figures.cordons).toBeGreaterThan(schedules)
}, 600_000)
