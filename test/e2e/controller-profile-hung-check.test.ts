import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { eventually } from '../support/e2e-cluster.ts'
import { fileOf, profile, profileNodes } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { patient, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const

test('a check that never answers holds up its own nodes alone, and is told when its time is over', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 1 })
  const { addBare, untilState, statesOf } = profileNodes(ground)
  const deaf = createServer(() => undefined)
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
  context.onTestFinished(() => {
    deaf.close()
    deaf.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`
  const file = fileOf({
    check: { go: ['hasLabel', { key: 'go' }], deaf: ['prometheusInstant', { url, query: 'up', expr: 'value > 0' }] },
    profiles: [profile('hung', [[op, 'go && deaf', inside]]), profile('well', [[op, 'go', required]])],
  })
  const hung = await Promise.all(Array.from({ length: 80 }, () => addBare('hung', { labels: { go: '' } })))
  const { board } = startProfiles(context, ground, file)
  // Until the first ones are being asked.
  await expect
    .poll(() => new Promise((resolve) => deaf.getConnections((_, count) => resolve(count))), { timeout: 20_000 })
    .toBeGreaterThan(0)
  const startedMs = performance.now()
  const well = await Promise.all(Array.from({ length: 5 }, () => addBare('well', { labels: { go: '' } })))
  for (const name of well) await untilState(name, required)
  expect(performance.now() - startedMs).toBeLessThan(20_000)
  const errors = () =>
    board.all().flatMap(({ node, profiles }) => (hung.includes(node) ? [profiles[0]?.applied.error ?? ''] : []))
  await expect.poll(errors, { timeout: 30_000 }).toContainEqual(expect.stringContaining('gave no answer within 10 s'))
  await eventually(async () => expect(await statesOf(hung[0] ?? '')).toEqual({ hung: op }), patient)
})
