import { expect, test } from 'vitest'
import { instances, Machine, steps } from './fixture-machine.ts'
import { refusedPass } from './refused-pass.ts'

const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const
const file = (...profiles: readonly string[]) => `${instances}profiles:\n${profiles.join('')}`

test('a pass that the API server refuses leaves every profile where it is, and says why', async () => {
  const machine = new Machine(file(steps('a', [[op, 'go', inside]]), steps('b', [[op, 'b', required]])), {
    label: 'a--b',
  })
  machine.on.add('go')
  machine.broken.add('b')
  const refused = refusedPass(await machine.pass(), 'labels are too long')
  const failure = { stage: 'write', cause: 'labels are too long' }
  expect(refused.result.profiles).toMatchObject([
    { name: 'a', next: op, failure },
    { name: 'b', next: op, failure: { stage: 'check' } },
  ])
  expect(refused.events).toEqual([{ is: 'Failed', profile: 'a', state: op, failure }])
  expect(refused.entering).toEqual([])
})
