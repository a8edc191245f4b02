import { expect, test } from 'vitest'
import { owner, pod, world } from './fixture-pods.ts'
import { planDrain } from './plan.ts'
import { volumesToWaitFor } from './volumes.ts'

const claim = (name: string) => ({ name, persistentVolumeClaim: { claimName: name } })
const stays = { ...pod('a', { ownerReferences: owner('DaemonSet') }), spec: { volumes: [claim('x')] } }

test.for<readonly [string, number, readonly string[], string | undefined]>([
  ['nothing is attached', 0, [], undefined],
  ['one is', 0, ['pv-1'], 'all pods have left, but volumes are still attached: pv-1'],
  ['no more than a pod that stays uses', 1, ['pv-1'], undefined],
  ['more than that', 1, ['pv-1', 'pv-2'], 'all pods have left, but volumes are still attached: pv-1, pv-2'],
  ['many', 0, ['1', '2', '3', '4', '5', '6'], 'all pods have left, but volumes are still attached: 1, 2, 3, 4, 5, …'],
])('volumes that a drained node waits for: %s', ([, staying, attached, expected]) => {
  const plan = planDrain(world(Array.from({ length: staying }, () => stays)))
  expect(volumesToWaitFor(plan, attached)).toBe(expected)
})
