import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { applyLayers } from './apply-layers.ts'
import type { ApplyStep } from './plan/steps.ts'

const key = (name: string) => ({ group: '', kind: 'ConfigMap', namespace: 'shop', name })

function step(name: string, layer: number, after: readonly string[] = []): ApplyStep {
  const from = { path: 'a.yaml', document: 1, line: 1 }
  const declared = { key: key(name), apiVersion: 'v1', body: {}, from }
  return { do: 'create', key: key(name), declared, layer, after: after.map(key), why: '' }
}

async function run(steps: readonly ApplyStep[], { fails = '', width = 2 } = {}) {
  const log: string[] = []
  let running = 0
  let most = 0
  const outcome = await applyLayers(steps, {
    width: () => width,
    signal: new AbortController().signal,
    ready: async () => undefined,
    apply: async ({ key: { name } }) => {
      most = Math.max(most, ++running)
      await sleep(1)
      running--
      log.push(name)
      if (name === fails) throw new Error(`${name} is broken`)
      return name
    },
  })
  return { log, most, done: [...outcome.done.values()].map(({ result }) => result), outcome }
}

test('one layer after the other, lowest first, whatever the order of steps', async () => {
  const { log } = await run([step('late', 5), step('early', 1), step('middle', 3)])
  expect(log).toEqual(['early', 'middle', 'late'])
})

test('what needs something of its own layer waits for it, and no more at once than wanted', async () => {
  const { log, most } = await run([step('a', 1, ['b']), step('b', 1, ['c']), step('c', 1), step('d', 1), step('e', 1)])
  expect(most).toBe(2)
  expect(log.indexOf('c')).toBeLessThan(log.indexOf('b'))
  expect(log.indexOf('b')).toBeLessThan(log.indexOf('a'))
  expect(log).toHaveLength(5)
})

test('a need that is not part of the plan is there already', async () => {
  expect((await run([step('a', 1, ['elsewhere'])])).done).toEqual(['a'])
})

test('when one fails, its layer is finished but for what needs it, and no other is begun', async () => {
  const steps = [step('bad', 1), step('needs', 1, ['bad']), step('other', 1), step('later', 2)]
  const { done, outcome } = await run(steps, { fails: 'bad' })
  expect(done).toEqual(['other'])
  expect(
    outcome.failed.map(
      ({
        step: {
          key: { name },
        },
      }) => name,
    ),
  ).toEqual(['bad'])
  expect(outcome.left.map(({ key: { name } }) => name).sort()).toEqual(['later', 'needs'])
})
