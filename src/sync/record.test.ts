import { expect, test } from 'vitest'
import type { Inventory, Member, Verdict } from './inventory-record.ts'
import { keyId } from './key.ts'
import { contentDigest } from './plan/hash.ts'
import type { Plan, Step } from './plan/steps.ts'
import { announced, inForce, unproven, waiting, withApplied, withDeletions, withVerdict } from './record.ts'
import type { Commit } from './source/open-source.ts'

const at = '2026-03-01T12:00:00.000Z'
const key = (name: string) => ({ group: '', kind: 'ConfigMap', namespace: 'shop', name })
const member = (name: string): Member => ({ key: key(name), uid: `u-${name}`, apiVersion: 'v1' })
const empty: Inventory = { members: [], strangers: {}, verdicts: [], approvals: [], deletions: [] }
const from = { path: 'a.yaml', document: 1, line: 1 }
const declared = (name: string) => ({ key: key(name), apiVersion: 'v1', body: {}, from })
const create = (name: string): Step => ({
  do: 'create',
  key: key(name),
  declared: declared(name),
  layer: 1,
  after: [],
  why: '',
})
const planOf = (...steps: Step[]): Plan => ({
  steps,
  hash: 'h',
  unchanged: 0,
  budget: { used: 0, limit: 1 },
  halts: [],
})
const commit = (sha: string): Commit => ({ sha, author: 'a', at, subject: `s ${sha}`, trailers: {} })

test('before the first write everything that may come to exist is remembered, and nothing is forgotten', () => {
  const { members, underway } = announced(
    { ...empty, members: [member('old')] },
    planOf(create('new'), create('old')),
    'r',
    at,
  )
  expect(members.map(({ key: { name }, uid }) => [name, uid])).toEqual([
    ['old', 'u-old'],
    ['new', undefined],
  ])
  expect(underway).toEqual({ planHash: 'h', revision: 'r', since: at })
})

test('countdowns are remembered, of members with them and of strangers by UID, and go when nothing waits', () => {
  const wait = (name: string, uid: string, isStranger?: true): Step => ({
    do: 'wait',
    key: key(name),
    uid,
    ...(isStranger ? { isStranger } : {}),
    since: at,
    why: '',
  })
  const before = { ...empty, members: [member('mine')] }
  const next = waiting(before, planOf(wait('mine', 'u-mine'), wait('theirs', 'u-theirs', true)))
  expect([next.members[0]?.orphanedAt, next.strangers]).toEqual([at, { 'u-theirs': at }])
  expect(waiting(next, planOf())).toEqual(before)
})

test('each commit has one verdict: the newest its own, the others were overtaken, and a failure stays', () => {
  const failed = withVerdict(empty, [commit('a')], 'Failed', { why: 'broken' }, at)
  const after = withVerdict(failed, [commit('a'), commit('b'), commit('c')], 'Applied', {}, at)
  expect(after.verdicts.map(({ revision, is }) => [revision, is])).toEqual([
    ['a', 'Failed'],
    ['b', 'Superseded'],
    ['c', 'Applied'],
  ])
})

test('a hundred verdicts at most, and deletions of an hour', () => {
  let inventory = empty
  for (let index = 0; index < 120; index++) inventory = withVerdict(inventory, [commit(`${index}`)], 'Applied', {}, at)
  expect([inventory.verdicts.length, inventory.verdicts.at(-1)?.revision]).toEqual([100, '119'])
  const nowMs = Date.parse(at)
  const deleted = withDeletions({ ...empty, deletions: ['2026-03-01T10:59:00Z', '2026-03-01T11:30:00Z'] }, 2, nowMs)
  expect(deleted.deletions).toEqual(['2026-03-01T11:30:00Z', at, at])
})

test.for<[string, readonly (readonly [string, Verdict['is']])[], readonly string[], readonly string[]]>([
  ['of the commit that is put in force', [['a', 'Applied']], ['b'], ['b']],
  ['of none, when the commit is in force', [['b', 'Applied']], [], []],
  ['of a commit that failed and is tried again', [['a', 'Failed']], ['a'], ['a']],
  [
    'of commits that failed before this one',
    [
      ['a', 'Failed'],
      ['b', 'Failed'],
    ],
    ['c'],
    ['a', 'b'],
  ],
  [
    'of none that failed before one that went well',
    [
      ['a', 'Failed'],
      ['b', 'NoChange'],
    ],
    [],
    [],
  ],
  [
    'of a repair that failed',
    [
      ['a', 'Applied'],
      ['b', 'Failed'],
    ],
    [],
    ['b'],
  ],
])('nobody has seen healthy what was changed %s', ([, verdicts, commits, expected]) => {
  const told = verdicts.map(([revision, is]) => ({ revision, is, author: '', subject: '', at }))
  const members = [member('new'), ...['a', 'b'].map((name) => ({ ...member(name), revision: name }))]
  const found = unproven({ ...empty, members, verdicts: told }, commits.map(commit))
  expect(found.map(({ key: { name } }) => name)).toEqual(expected)
})

const update = { do: 'update' as const, key: key('a'), uid: 'u-a', fields: [], layer: 1, after: [], why: '' }
const result = {
  outcome: 'changed' as const,
  uid: 'u-a',
  resourceVersion: '1',
  reference: undefined,
  object: {},
  remarks: [],
}

test.for<[string, Record<string, string | null>, true | undefined]>([
  ['marked to stay', { 'fettle.dev/keep': 'an audit' }, true],
  ['marked by the words of others', { 'helm.sh/resource-policy': 'keep' }, true],
  ['whose mark is taken back', { 'fettle.dev/keep': 'false' }, undefined],
  ['whose mark is empty', { 'fettle.dev/keep': null }, undefined],
  ['that is not marked', {}, undefined],
])('what git says last counts of an object %s', ([, annotations, isKept]) => {
  const before = { ...empty, members: [{ ...member('a'), isKept: true as const }] }
  const step = { ...update, declared: { ...declared('a'), body: { metadata: { annotations } } } }
  const { members } = withApplied(before, new Map([[keyId(key('a')), { step, result }]]), 'r')
  expect(members[0]?.isKept).toBe(isKept)
})

test('of a commit that is read otherwise, what it declared first stays on record until the next commit', () => {
  const reading = { path: 'app', ignoreFiles: [], namespaceRule: 'fill', namespaces: ['shop'] }
  const digest = (text: string, path = 'app') => contentDigest(text, { ...reading, path })
  const first = inForce(empty, 'r', { digest: digest('one') })
  expect(inForce(first, 'r', { digest: digest('two') })).toEqual(first)
  expect(inForce(first, 'next', { digest: digest('two') })).toMatchObject({ revision: 'next', digest: digest('two') })
  const elsewhere = digest('two', 'elsewhere')
  expect(inForce(first, 'r', { digest: elsewhere })).toMatchObject({ revision: 'r', digest: elsewhere })
})
