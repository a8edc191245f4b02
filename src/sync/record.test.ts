import { expect, test } from 'vitest'
import type { Inventory, Member, Verdict } from './inventory-record.ts'
import { keyId } from './key.ts'
import { contentDigest, isOtherContent, isOtherPlace } from './plan/hash.ts'
import type { OpeningList, Plan, Step } from './plan/steps.ts'
import {
  announced,
  earlierDeletions,
  inForce,
  unproven,
  waiting,
  withApplied,
  withDeletions,
  withVerdict,
} from './record.ts'
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
    0,
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

test.for<[string, Partial<OpeningList>, Partial<Inventory>]>([
  ['is settled once nothing is left on it', {}, { openingHash: 'l' }],
  ['is not while something is', { keys: [key('a')] }, {}],
  ['is not while a stranger may still come to light', { isWhole: false }, {}],
  ['is approved as it is until then', { isWhole: false, isAgreed: true }, { approvals: ['l'] }],
])('the opening list %s', ([, parts, expected]) => {
  const opening = { hash: 'l', keys: [], isAgreed: false, isWhole: true, ...parts }
  const next = waiting(empty, { ...planOf(), opening })
  expect(next).toEqual({ ...empty, ...expected })
  expect(waiting(next, { ...planOf(), opening })).toEqual(next)
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
  const deleted = withDeletions(empty, ['2026-03-01T10:59:00Z', '2026-03-01T11:30:00Z'], 2, nowMs)
  expect(deleted.deletions).toEqual(['2026-03-01T11:30:00Z', at, at])
})

test('deletions count from when they are announced: a run that dies over them cannot make them again and again', () => {
  const [first, second, third] = ['12:00', '12:10', '12:20'].map((time) => `2026-03-01T${time}:00.000Z`)
  const before = { ...empty, deletions: ['2026-03-01T11:30:00Z'] }
  const died = announced(before, planOf(), 'r', first ?? '', 2)
  expect(died.deletions).toEqual([...before.deletions, first, first])
  // Another plan: some of them happened, and nobody knows how many.
  const next = announced(died, { ...planOf(), hash: 'other' }, 'r', second ?? '', 1)
  expect(next.deletions).toEqual([...died.deletions, second])
  // The same plan: not one happened.
  const again = announced(next, { ...planOf(), hash: 'other' }, 'r', third ?? '', 1)
  expect(again.deletions).toEqual([...died.deletions, third])
  // In the end counts what was done.
  const ended = withDeletions(again, earlierDeletions(next, { hash: 'other' }), 0, Date.parse(third ?? ''))
  expect(ended.deletions).toEqual(died.deletions)
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
  const first = inForce(empty, 'r', { digest: digest('one') }, planOf())
  expect(inForce(first, 'r', { digest: digest('two') }, planOf())).toEqual(first)
  const next = inForce(first, 'next', { digest: digest('two') }, planOf())
  expect(next).toMatchObject({ revision: 'next', digest: digest('two') })
  const elsewhere = digest('two', 'elsewhere')
  expect(inForce(first, 'r', { digest: elsewhere }, planOf())).toMatchObject({ revision: 'r', digest: elsewhere })
})

const waits = (waitsFor: 'grace' | 'removal', isStranger?: true): Step => ({
  ...{ do: 'wait', key: key('a'), uid: 'u-a', since: at, waitsFor, why: '' },
  ...(isStranger ? { isStranger } : {}),
})
const deletes: Step = {
  ...{ do: 'delete', key: key('a'), apiVersion: 'v1', uid: 'u-a', isStranger: false, layer: 1, weight: 1, why: '' },
}
const unknown: Step = { do: 'keep', key: key('a'), rule: 'unknown', why: '' }

test.for<[string, Plan, boolean]>([
  ['is in force when nothing of the old one is left', planOf(), true],
  [
    'is not while a halt stands',
    { ...planOf(deletes), halts: [{ reason: 'SourceChanged', message: '', remedy: '' }] },
    false,
  ],
  ['is when its deletions were agreed to', planOf(deletes, waits('grace')), true],
  ['is not while members wait for their time', planOf(waits('grace')), false],
  ['nor while members cannot be seen', planOf(unknown), false],
  ['is while strangers wait, or members are on their way', planOf(waits('grace', true), waits('removal')), true],
])('another place of the manifests %s', ([, plan, isMoved]) => {
  const reading = { ignoreFiles: [], namespaceRule: 'fill', namespaces: ['shop'] }
  const [here, there] = ['one', 'two'].map((path) => contentDigest('x', { ...reading, path }))
  const before = { ...empty, members: [member('a')], revision: 'r', digest: here ?? '' }
  const { revision, digest } = inForce(before, 'next', { digest: there ?? '' }, plan)
  expect([revision, isOtherPlace({ digest: digest ?? '' }, there)]).toEqual(['next', !isMoved])
  // Whoever goes back is not told that the commit has changed.
  const back = contentDigest('y', { ...reading, path: 'one' })
  expect(isOtherContent({ revision: 'next', digest: digest ?? '' }, 'next', back)).toBe(false)
})
