import { describe, expect, test } from 'vitest'
import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { budgetsOf, refusalOf } from './disruption-budgets.ts'

type Figures = NonNullable<PodDisruptionBudget['status']>

function pdb(
  spec: NonNullable<PodDisruptionBudget['spec']>,
  figures?: Partial<Figures>,
  metadata: object = {},
): PodDisruptionBudget {
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 3,
    ...figures,
  }
  return {
    metadata: { namespace: 'shop', name: 'web', generation: 1, ...metadata },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    ...(figures ? { status } : {}),
  }
}

function pod(status: NonNullable<PodObject['status']> = {}, metadata: object = {}): PodObject {
  const ready = [{ type: 'Ready', status: 'True' }]
  return {
    metadata: { namespace: 'shop', name: 'web-1', labels: { app: 'web' }, ...metadata },
    status: { phase: 'Running', conditions: ready, ...status },
  }
}

const sick = pod({ conditions: [{ type: 'Ready', status: 'False' }] })

test('a budget covers the pods of its own namespace that its selector names', () => {
  const [here, elsewhere, other] = [
    pdb({}, {}),
    pdb({}, {}, { namespace: 'bank' }),
    pdb({ selector: { matchLabels: { app: 'db' } } }, {}),
  ]
  const everything = pdb({ selector: {} }, {}, { name: 'everything' })
  const { selector: _, ...without } = pdb({}, {}).spec ?? {}
  const nothing = { ...pdb({}, {}, { name: 'nothing' }), spec: without }
  expect(budgetsOf(pod(), [here, elsewhere, other, everything, nothing])).toEqual([here, everything])
})

describe('a healthy pod', () => {
  test('that no budget covers may go', () => {
    expect(refusalOf(pod(), [])).toBeUndefined()
  })

  test('may go while its budget has something to give', () => {
    expect(refusalOf(pod(), [pdb({ minAvailable: 2 }, { disruptionsAllowed: 1, currentHealthy: 3 })])).toBeUndefined()
  })

  test('waits when others have drawn what there was', () => {
    const budget = pdb({ minAvailable: 2 }, { disruptionsAllowed: 1, currentHealthy: 3 })
    expect(refusalOf(pod(), [budget], new Map([['shop/web', 0]]))).toMatchObject({ budget, neverPasses: false })
  })

  test('waits for a budget with nothing to give, with its figures', () => {
    const budget = pdb({ minAvailable: 2 }, {})
    expect(refusalOf(pod(), [budget])).toEqual({
      pod: pod(),
      budget,
      why: 'PodDisruptionBudget shop/web has nothing to give now: 2 of 3 pods are healthy, 2 must be',
      neverPasses: false,
    })
  })

  test('waits for a budget that has no figures yet', () => {
    expect(refusalOf(pod(), [pdb({ minAvailable: 2 })])).toMatchObject({
      why: 'PodDisruptionBudget shop/web has nothing to give now: it has no status yet',
      neverPasses: false,
    })
  })

  test('never passes two budgets', () => {
    const [first, second] = [pdb({}, { disruptionsAllowed: 1 }), pdb({}, { disruptionsAllowed: 1 }, { name: 'again' })]
    expect(refusalOf(pod(), [first, second])).toMatchObject({
      neverPasses: true,
      why: 'PodDisruptionBudgets shop/web and again both cover it; the API server refuses such pods always',
    })
  })
})

test.for<readonly [string, PodDisruptionBudget, boolean]>([
  ['maxUnavailable 0', pdb({ maxUnavailable: 0 }, {}), true],
  ['maxUnavailable 0%', pdb({ maxUnavailable: '0%' }, {}), true],
  ['maxUnavailable 0 before it has a status', pdb({ maxUnavailable: 0 }), true],
  ['maxUnavailable 1', pdb({ maxUnavailable: 1 }, {}), false],
  ['minAvailable 100%', pdb({ minAvailable: '100%' }, { desiredHealthy: 3, currentHealthy: 3 }), true],
  ['as many as there are', pdb({ minAvailable: 3 }, { desiredHealthy: 3, currentHealthy: 3 }), true],
  ['more than there are', pdb({ minAvailable: 4 }, { desiredHealthy: 4, currentHealthy: 3 }), true],
  ['one less than there are', pdb({ minAvailable: 2 }, {}), false],
  ['figures of an older spec', pdb({ minAvailable: 2 }, { desiredHealthy: 3 }, { generation: 2 }), false],
  ['no pods expected yet', pdb({ minAvailable: 1 }, { expectedPods: 0, desiredHealthy: 1 }), false],
])('whether it can ever pass: %s', ([, budget, neverPasses]) => {
  expect(refusalOf(pod(), [budget])?.neverPasses).toBe(neverPasses)
})

// The API server asks no budget for such pods (canIgnorePDB in its eviction handler).
describe.for(['Pending', 'Succeeded', 'Failed'])('a pod in phase %s', (phase) => {
  test('may go, whatever its budgets say', () => {
    const budgets = [pdb({ maxUnavailable: 0 }, {}), pdb({ maxUnavailable: 0 }, {}, { name: 'again' })]
    expect(refusalOf(pod({ phase }), budgets)).toBeUndefined()
  })
})

describe('a pod that is not ready', () => {
  test('may go while enough others are healthy, since its end disturbs nobody', () => {
    expect(refusalOf(sick, [pdb({ minAvailable: 2 }, { currentHealthy: 2, desiredHealthy: 2 })])).toBeUndefined()
  })

  test('draws nothing from a budget that is used up', () => {
    expect(refusalOf(sick, [pdb({ minAvailable: 2 }, {})], new Map([['shop/web', 0]]))).toBeUndefined()
  })

  test('waits while its application is disturbed already', () => {
    expect(refusalOf(sick, [pdb({ minAvailable: 2 }, { currentHealthy: 1 })])).toMatchObject({ neverPasses: false })
  })

  test('waits for a budget that wants nobody healthy, as the API server has it', () => {
    expect(refusalOf(sick, [pdb({}, { currentHealthy: 0, desiredHealthy: 0 })])).toBeDefined()
  })

  test('may always go if the budget says so', () => {
    const budget = pdb(
      { minAvailable: 3, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      { currentHealthy: 0, desiredHealthy: 3 },
    )
    expect(refusalOf(sick, [budget])).toBeUndefined()
    expect(refusalOf(pod(), [budget])).toMatchObject({ neverPasses: true })
  })

  test('does not pass two budgets either', () => {
    const budget = pdb({ unhealthyPodEvictionPolicy: 'AlwaysAllow' }, {})
    expect(refusalOf(sick, [budget, budget])).toMatchObject({ neverPasses: true })
  })
})
