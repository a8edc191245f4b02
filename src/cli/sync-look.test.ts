import { expect, test } from 'vitest'
import { orphansText, stateText } from './sync-look.ts'

const key = (name: string) => ({ group: '', kind: 'ConfigMap', namespace: 'shop', name })
const nowMs = Date.parse('2026-05-04T12:00:00.000Z')

test('orphans: what goes, what waits and how long, what stays', () => {
  const wait = { do: 'wait' as const, uid: 'u', since: '2026-05-04T11:59:00.000Z', why: 'nothing declares it' }
  const text = orphansText(
    {
      steps: [
        { do: 'keep', key: key('a'), rule: 'keep', why: 'it is marked to stay' },
        { ...wait, key: key('b'), until: '2026-05-04T12:09:00.000Z' },
        { ...wait, key: key('c'), why: 'a person has to confirm that it goes' },
      ],
    },
    nowMs,
  )
  expect(text).toBe(`wait    ConfigMap shop/b: nothing declares it; deleted in 9m
wait    ConfigMap shop/c: a person has to confirm that it goes
keep    ConfigMap shop/a: it is marked to stay (rule keep)
`)
  expect(orphansText({ steps: [] }, nowMs)).toBe('there are none\n')
})

test('status after a commit that failed: what is in force, what failed, and why', () => {
  const at = '2026-05-04T12:00:00.000Z'
  const last = { revision: 'bbb', author: 'ada', subject: 'bad', is: 'Failed' as const, why: 'web is not healthy', at }
  expect(stateText({ revision: 'aaa', last, members: 2, healthy: 1, missing: [], ill: [], waiting: [] })).toBe(
    `in force: aaa\nlast verdict: Failed of bbb bad at ${at}: web is not healthy\n2 objects, 1 healthy\n`,
  )
})
