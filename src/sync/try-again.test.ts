import { describe, expect, test } from 'vitest'
import { afterwardsText, type Failure, failureOf, mayTryAgain } from './try-again.ts'

const key = { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'a' }

function found({ sha = 'one', hash = 'plan', version = '1', isWriting = true, halt = '' } = {}) {
  const metadata = { resourceVersion: version }
  const step = isWriting ? { do: 'create', key, declared: {} } : { do: 'wait', key }
  return {
    tip: { sha },
    plan: { hash, steps: [step], halts: halt === '' ? [] : [{ reason: halt }] },
    set: { objects: [{ key }] },
    observed: { objects: [{ key, uid: 'u', metadata }], unknown: [] },
  } as unknown as Parameters<typeof failureOf>[0]
}

const failed = { is: 'Failed' } as const
const refused = { is: 'Failed', isPermanent: true } as const

function failureAt(nowMs: number, outcome: typeof failed | typeof refused, before?: Failure): Failure {
  const failure = failureOf(found(), outcome, before, nowMs)
  if (!failure) throw new Error('it did not fail')
  return failure
}

test('what did not fail is no failure', () => {
  expect(failureOf(found(), { is: 'Applied' }, failureAt(0, failed), 0)).toBeUndefined()
  expect(mayTryAgain(found(), undefined, 0)).toBe(true)
})

describe('a failure that may pass', () => {
  test('is tried again when its time has come, and not before', () => {
    const failure = failureAt(1_000, failed)
    expect(mayTryAgain(found(), failure, 30_999)).toBe(false)
    expect(mayTryAgain(found(), failure, 31_000)).toBe(true)
  })

  test('is tried less and less often, and never less than every ten minutes', () => {
    const pauses: number[] = []
    let before: Failure | undefined
    for (let attempt = 1; attempt <= 40; attempt++) {
      before = failureAt(0, failed, before)
      pauses.push(before.againAtMs / 1_000)
    }
    expect(pauses.slice(0, 7)).toEqual([30, 60, 120, 240, 480, 600, 600])
    expect(pauses.at(-1)).toBe(600)
  })

  test('is tried at once when an object of the set changed: it may be what the others wait for', () => {
    expect(mayTryAgain(found({ version: '2' }), failureAt(0, failed), 1)).toBe(true)
  })

  test('is tried at once when a person lifted a halt', () => {
    const failure = failureOf(found({ halt: 'OverBudget' }), failed, undefined, 0)
    expect(mayTryAgain(found({ halt: 'OverBudget' }), failure, 1)).toBe(false)
    expect(mayTryAgain(found(), failure, 1)).toBe(true)
  })

  test('is looked at each time when nothing is left to write', () => {
    expect(mayTryAgain(found({ isWriting: false }), failureAt(0, failed), 1)).toBe(true)
  })
})

describe('a failure that stays', () => {
  test('is not tried again, however long it takes', () => {
    const failure = failureAt(0, refused)
    for (const isWriting of [true, false]) expect(mayTryAgain(found({ isWriting }), failure, 86_400_000)).toBe(false)
  })

  test('is tried again when the object is another one, at the pace of all failures', () => {
    const failure = failureAt(0, refused)
    expect(mayTryAgain(found({ version: '2' }), failure, 29_999)).toBe(false)
    expect(mayTryAgain(found({ version: '2' }), failure, 30_000)).toBe(true)
  })
})

test.for([
  ['commit', { sha: 'two' }],
  ['plan', { hash: 'other' }],
] as const)('another %s is tried at once, and begins anew', ([, other]) => {
  const failure = failureAt(0, refused, failureAt(0, refused))
  expect(failure.attempts).toBe(2)
  expect(mayTryAgain(found(other), failure, 1)).toBe(true)
  expect(failureOf(found(other), failed, failure, 1)?.attempts).toBe(1)
})

test('what becomes of it is told in the same words each time', () => {
  const first = failureAt(0, failed)
  expect(afterwardsText(failureAt(60_000, failed, first))).toBe(afterwardsText(first))
  expect(afterwardsText(first)).toContain('after 30 s at first, then less and less often, at least every 600 s')
  expect(afterwardsText(failureAt(0, refused))).toContain('not tried until git, or what is refused, changes')
})
