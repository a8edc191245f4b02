import { expect, test } from 'vitest'
import { orphansText, stateText } from './sync-look.ts'

const key = (name: string) => ({ group: '', kind: 'ConfigMap', namespace: 'shop', name })
const nothing = { members: 0, healthy: 0, missing: [], unknown: [], ill: [], waiting: [], strangers: [] }
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
  expect(stateText({ ...nothing, revision: 'aaa', last, members: 2, healthy: 1 })).toBe(
    `in force: aaa\nlast verdict: Failed of bbb bad at ${at}: web is not healthy\n2 objects, 1 healthy\n`,
  )
})

test('status tells what is missing from what nobody could read, and that strangers are counted down', () => {
  const strangers = [
    { uid: 'u2', since: '2026-05-04T11:59:00.000Z' },
    { uid: 'u1', since: '2026-05-04T11:58:00.000Z' },
  ]
  const unknown = [{ key: key('b'), why: 'configmaps cannot be listed in namespace shop: forbidden' }]
  expect(stateText({ ...nothing, revision: 'aaa', members: 2, missing: [key('a')], unknown, strangers })).toBe(
    `in force: aaa
2 objects, 0 healthy
missing: ConfigMap shop/a
cannot be read: ConfigMap shop/b: configmaps cannot be listed in namespace shop: forbidden
2 strangers are counted down, the first since 2026-05-04T11:58:00.000Z; \`fettle sync orphans\` names them
`,
  )
})
