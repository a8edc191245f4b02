import { expect, test } from 'vitest'
import { carefulDeletion } from '../policy.ts'
import { allowedDeletions, allowedWrites, heldReplacements, whyNotReplaced } from './allowed.ts'
import { weightOf } from './budget.ts'
import { agoText, declare, key, live, member, nowMs, type WorldParts, world } from './fixture-plan.ts'
import { contentDigest, type Reading } from './hash.ts'
import { planSync } from './plan-sync.ts'

const careful = { ...carefulDeletion }

/** So many ConfigMaps stay, and so many others go. */
function loss(stay: number, go: number, parts: WorldParts = {}, kinds = ['Service', 'Secret', 'Role']): WorldParts {
  const names = [
    ...Array.from({ length: stay }, (_, index) => `ConfigMap/stays-${index}`),
    ...Array.from({ length: go }, (_, index) => `${kinds[index % kinds.length]}/goes-${index}`),
  ]
  return {
    declared: names.slice(0, stay).map((name) => declare(name)),
    objects: names.map((name) => live(name)),
    members: names.map((name) => member(name)),
    ...parts,
    deletion: { ...careful, ...parts.deletion },
  }
}

const reasons = (parts: WorldParts) => planSync(world(parts)).halts.map(({ reason }) => reason)
const hashOf = (parts: WorldParts) => planSync(world(parts)).hash
const approving = (approve: string) => ({ permits: { approve, confirmed: [] } })

test('what takes data or others along counts five-fold', () => {
  const kinds = [
    'Namespace/a',
    'PersistentVolume/a',
    'PersistentVolumeClaim/a',
    'CustomResourceDefinition/a',
    'Secret/a',
  ]
  expect(kinds.map((kind) => weightOf(key(kind)))).toEqual([5, 5, 5, 5, 1])
})

test.for<[string, WorldParts, string[]]>([
  ['nothing goes', loss(10, 0), []],
  ['a fifth of ten may go', loss(8, 2), []],
  ['one more may not', loss(7, 3), ['OverBudget']],
  ['a small set is taken for ten', loss(2, 2), []],
  ['a large one is bound by the number', loss(100, 11), ['OverBudget']],
  ['up to the number', loss(100, 10), []],
  ['by weight', { ...loss(10, 0), ...withClaims(1) }, ['OverBudget']],
  ['a person allows the number', loss(7, 3, { permits: { allowDeletes: 3, confirmed: [] } }), []],
  ['not fewer', loss(6, 4, { permits: { allowDeletes: 3, confirmed: [] } }), ['OverBudget']],
  ['a trailer allows it', loss(7, 3, { trailers: { 'Sync-Allow-Deletes': '3' } }), []],
  ['in any letters', loss(7, 3, { trailers: { 'sync-allow-deletes': ' 3 ' } }), []],
  ['not fewer by trailer', loss(6, 4, { trailers: { 'Sync-Allow-Deletes': '3' } }), ['OverBudget']],
  [
    'a trailer that is no number allows nothing',
    loss(7, 3, { trailers: { 'Sync-Allow-Deletes': 'all' } }),
    ['OverBudget'],
  ],
  ['a trailer never narrows', loss(8, 2, { trailers: { 'Sync-Allow-Deletes': '0' } }), []],
  ['its approval fits', loss(7, 3, approving(hashOf(loss(7, 3)))), []],
  ['a recorded one too', loss(7, 3, { inventory: { approvals: ['x', hashOf(loss(7, 3))] } }), []],
  ['that of another plan does not', loss(6, 4, approving(hashOf(loss(7, 3)))), ['OverBudget']],
  [
    'of an hour, so many',
    loss(90, 10, { inventory: { deletions: Array.from({ length: 41 }, () => agoText(3_599_999)) } }),
    ['OverHourlyBudget'],
  ],
  [
    'what is older does not count',
    loss(90, 10, { inventory: { deletions: Array.from({ length: 41 }, () => agoText(3_600_000)) } }),
    [],
  ],
  [
    'a time that cannot be read counts',
    loss(90, 10, { inventory: { deletions: Array.from({ length: 41 }, () => '?') } }),
    ['OverHourlyBudget'],
  ],
  [
    'a trailer does not lift the budget of the hour',
    loss(90, 10, {
      inventory: { deletions: Array.from({ length: 41 }, () => agoText(1_000)) },
      trailers: { 'Sync-Allow-Deletes': '10' },
    }),
    ['OverHourlyBudget'],
  ],
  [
    'a person does',
    loss(90, 10, {
      inventory: { deletions: Array.from({ length: 41 }, () => agoText(1_000)) },
      permits: { allowDeletes: 10, confirmed: [] },
    }),
    [],
  ],
  ['half may go', loss(2, 2), []],
  ['more than half may not', loss(1, 2), ['DeclaredSetShrank']],
  ['unless the number says so', loss(1, 2, { permits: { allowDeletes: 2, confirmed: [] } }), []],
  ['or the hash', loss(1, 2, approving(hashOf(loss(1, 2)))), []],
  ['nor a kind with more than five', loss(50, 6, {}, ['Service']), ['KindLost']],
  ['five may', loss(50, 5, {}, ['Service']), []],
  ['nothing is declared', loss(0, 1), ['DeclaredSetEmpty', 'DeclaredSetShrank']],
  [
    'a number does not speak of everything',
    loss(0, 1, { permits: { allowDeletes: 9, confirmed: [] } }),
    ['DeclaredSetEmpty'],
  ],
  ['the hash does', loss(0, 1, approving(hashOf(loss(0, 1)))), []],
  ['or the policy', loss(0, 1, { deletion: { allowEmpty: true } }), []],
  [
    'a member that nobody can see stops the rest: it may have to go first',
    withMember(loss(10, 1, { unknown: [{ group: 'example.com', why: 'down' }] }), 'Widget/w'),
    ['DiscoveryIncomplete'],
  ],
  [
    'what is unknown and concerns nothing of ours stops nothing',
    loss(10, 1, { unknown: [{ group: 'metrics.k8s.io', why: 'down' }] }),
    [],
  ],
  ['what is made anew counts', anew(loss(8, 1), 2), ['OverBudget']],
  ['up to the budget', anew(loss(8, 1), 1), []],
  ['also alone', anew(loss(10, 0), 3), ['OverBudget']],
  ['with no budget nothing is', anew(loss(10, 0, { deletion: { maxDeletes: 0 } }), 1), ['OverBudget']],
  ['by weight as well', anew(loss(10, 0), 1, 'PersistentVolumeClaim'), ['OverBudget']],
  ['unless allowed', anew(loss(10, 0, { permits: { allowDeletes: 3, confirmed: [] } }), 3), []],
  ['or approved', anew(loss(10, 0, approving(hashOf(anew(loss(10, 0), 3)))), 3), []],
  [
    'and in the hour',
    anew(loss(90, 9, { inventory: { deletions: Array.from({ length: 41 }, () => agoText(1_000)) } }), 1),
    ['OverHourlyBudget'],
  ],
  ['nor is anything made anew in a namespace that goes', terminating(anew(loss(10, 0), 1)), ['NamespaceTerminating']],
  ['the same commit declares something else', reread(loss(10, 1), 'old', 'new'), ['SameCommitOtherContent']],
  ['or the same', reread(loss(10, 1), 'old', 'old'), []],
  [
    'a number does not speak of that',
    reread(loss(10, 1, { permits: { allowDeletes: 9, confirmed: [] } }), 'old', 'new'),
    ['SameCommitOtherContent'],
  ],
  ['its approval does', reread(loss(10, 1, approving(hashOf(loss(10, 1)))), 'old', 'new'), []],
  ['another commit may', { ...reread(loss(10, 1), 'old', 'new'), revision: 'next' }, []],
  [
    'and one that is read otherwise',
    reread(loss(10, 1), 'old', 'new', { namespaceRule: 'force', namespaces: ['shop', 'b'] }),
    [],
  ],
  [
    'the manifests come from another folder',
    reread(loss(10, 1), 'old', 'new', { path: 'elsewhere' }),
    ['SourceChanged'],
  ],
  ['another repository', reread(loss(10, 1), 'old', 'old', { url: 'https://example.org/other' }), ['SourceChanged']],
  ['or from other files of it', reread(loss(10, 1), 'old', 'old', { ignoreFiles: ['*.bak'] }), ['SourceChanged']],
  [
    'a number does not say that this is meant',
    reread(loss(10, 1, { permits: { allowDeletes: 9, confirmed: [] } }), 'old', 'new', { path: 'elsewhere' }),
    ['SourceChanged'],
  ],
  [
    'the approval of the plan does',
    reread(loss(10, 1, approving(hashOf(loss(10, 1)))), 'old', 'new', { path: 'elsewhere' }),
    [],
  ],
  [
    'also of the next commit',
    { ...reread(loss(10, 1), 'old', 'new', { path: 'x' }), revision: 'next' },
    ['SourceChanged'],
  ],
  ['nothing goes with the other folder', reread(loss(10, 0), 'old', 'new', { path: 'elsewhere' }), []],
  ['nothing goes, and nothing is stopped', reread(loss(10, 0), 'old', 'new'), []],
  ['the namespace goes anyway', terminating(loss(10, 1)), ['NamespaceTerminating']],
  ['the clock went back', loss(10, 1, { inventory: { deletions: [agoText(-61_000)] } }), ['ClockWentBack']],
  ['a little skew is no harm', loss(10, 1, { inventory: { deletions: [agoText(-59_000)] } }), []],
])('budget: %s', ([, parts, expected]) => {
  expect(reasons(parts)).toEqual(expected)
  const input = world(parts)
  if (expected.length === 0) return
  expect(allowedDeletions(planSync(input), input.policy)).toEqual([])
  expect(allowedWrites(planSync(input), input.policy).filter((step) => step.do !== 'create' && step.replaces)).toEqual(
    [],
  )
})

test.for(['DiscoveryIncomplete', 'NamespaceTerminating', 'ClockWentBack'])('no approval lifts %s', (reason) => {
  const worlds: Record<string, WorldParts> = {
    DiscoveryIncomplete: withMember(loss(10, 1, { unknown: [{ group: 'example.com', why: 'down' }] }), 'Widget/w'),
    NamespaceTerminating: terminating(loss(10, 1)),
    ClockWentBack: loss(10, 1, { inventory: { deletions: [agoText(-61_000)] } }),
  }
  const parts = worlds[reason] ?? {}
  expect(reasons({ ...parts, permits: { approve: hashOf(parts), allowDeletes: 100, confirmed: [] } })).toEqual([reason])
})

test('a halt that was found once is found again after the orphans were recorded', () => {
  const parts = loss(1, 2)
  const recorded = (parts.members ?? []).map((one) => ({ ...one, orphanedAt: agoText(1_000) }))
  expect(reasons({ ...parts, members: recorded })).toEqual(['DeclaredSetShrank'])
})

test.for<[string, Partial<ReturnType<typeof member>>, Record<string, string>]>([
  ['what a person keeps', { isKept: true }, {}],
  ['what nobody has confirmed', {}, { 'fettle.dev/confirm-deletion': 'true' }],
])('%s does not count as a loss', ([, record, annotations]) => {
  const names = ['Secret/x', 'Secret/y', 'Secret/z']
  const parts = loss(2, 1)
  const objects = [...(parts.objects ?? []), ...names.map((name) => live(name, { metadata: { annotations } }))]
  const members = [...(parts.members ?? []), ...names.map((name) => member(name, record))]
  expect(reasons({ ...parts, objects, members })).toEqual([])
})

test('an approval does not fit another object under the same name', () => {
  const parts = loss(7, 3)
  const objects = (parts.objects ?? []).map((one) => (one.key.kind === 'Role' ? { ...one, uid: 'new' } : one))
  expect(reasons({ ...parts, objects, ...approving(hashOf(parts)) })).toEqual(['OverBudget'])
})

test('the remedy names the numbers and the hash to give', () => {
  const plan = planSync(world(loss(7, 3, approving('0123'))))
  expect(plan.budget).toEqual({ used: 3, limit: 2 })
  expect(plan.halts).toEqual([
    {
      reason: 'OverBudget',
      message: 'the plan deletes 3 objects; 2 may go at once (--approve 0123 is for another plan)',
      remedy: `read the list, then give --allow-deletes 3 or --approve ${plan.hash}, or commit with the trailer "Sync-Allow-Deletes: 3"`,
    },
  ])
})

const hour = (count: number) => ({ inventory: { deletions: Array.from({ length: count }, () => agoText(1_000)) } })
const strangerToAll: WorldParts = { policy: { mode: 'total' }, objects: [live('ConfigMap/s', { label: '' })] }

test.for<[string, WorldParts, { count: number; weight: number }, RegExp | undefined]>([
  ['within the budget', loss(10, 0), { count: 0, weight: 0 }, undefined],
  ['up to it', loss(10, 0), { count: 1, weight: 1 }, undefined],
  ['not beyond', loss(10, 0), { count: 2, weight: 2 }, /no deletion is left in the budget/],
  ['those of the plan count', loss(8, 2), { count: 0, weight: 0 }, /no deletion is left in the budget/],
  ['nor beyond that of the hour', loss(10, 0, hour(50)), { count: 0, weight: 0 }, /within an hour/],
  ['of which the plan takes its part', loss(99, 1, hour(48)), { count: 1, weight: 1 }, /within an hour/],
  [
    'unless allowed',
    loss(10, 0, { ...hour(50), permits: { allowDeletes: 2, confirmed: [] } }),
    { count: 1, weight: 1 },
    undefined,
  ],
  [
    'not while another halt stands',
    loss(7, 3),
    { count: 0, weight: 0 },
    /nothing is deleted now: the plan deletes 3 objects/,
  ],
  ['not in a namespace that goes', terminating(loss(10, 0)), { count: 0, weight: 0 }, /is being deleted/],
  [
    'not when the clock went back',
    loss(10, 0, { inventory: { deletions: [new Date(nowMs + 600_000).toISOString()] } }),
    { count: 0, weight: 0 },
    /set the clock/,
  ],
  [
    'also before mode total is agreed to: only strangers wait for that',
    strangerToAll,
    { count: 0, weight: 0 },
    undefined,
  ],
])('what only the server knows to be in need of it is made anew: %s', ([, parts, spent, why]) => {
  const plan = planSync(world({ ...parts, deletion: { ...careful, ...parts.deletion } }))
  const found = whyNotReplaced(plan, key('ConfigMap/anew'), spent)
  if (why === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(why)
})

test('what a halt keeps from being made anew is known, and nothing else is', () => {
  const halted = planSync(world(anew(loss(1, 0, { deletion: { maxDeletes: 0 } }), 1)))
  expect(heldReplacements(halted).map(({ key }) => key.name)).toEqual(['anew-0'])
  expect(heldReplacements(planSync(world(anew(loss(10, 0), 1))))).toEqual([])
})

test('while something may not be made anew, all else is written', () => {
  const parts = anew(loss(1, 0, { deletion: { maxDeletes: 0 } }), 1)
  const input = world({ ...parts, declared: [...(parts.declared ?? []), declare('Secret/new')] })
  const plan = planSync(input)
  expect(plan.steps.map((step) => [step.do, step.key.name])).toEqual([
    ['update', 'anew-0'],
    ['create', 'new'],
  ])
  expect(allowedWrites(plan, input.policy).map(({ key }) => key.name)).toEqual(['new'])
  expect(plan.halts[0]?.message).toBe('the plan replaces 1 object; 0 may go at once')
})

/** So many more that git changed, and that are deleted and made anew instead. */
function anew(parts: WorldParts, count: number, kind = 'ConfigMap'): WorldParts {
  const names = Array.from({ length: count }, (_, index) => `${kind}/anew-${index}`)
  const annotations = { 'fettle.dev/replace': 'always' }
  return {
    ...parts,
    declared: [...(parts.declared ?? []), ...names.map((name) => declare(name, { annotations }))],
    objects: [...(parts.objects ?? []), ...names.map((name) => live(name))],
    members: [...(parts.members ?? []), ...names.map((name) => member(name))],
    compare: ({ key: { name } }) => (name.startsWith('anew-') ? { is: 'changed', fields: [] } : { is: 'same' }),
  }
}

/** The commit in force, read again. */
function reread(parts: WorldParts, before: string, now: string, otherwise: Partial<Reading> = {}): WorldParts {
  const reading = { path: 'app', ignoreFiles: [], namespaceRule: 'fill', namespaces: ['shop'] }
  const inventory = { ...parts.inventory, revision: 'abc', digest: contentDigest(before, reading) }
  return { ...parts, inventory, revision: 'abc', digest: contentDigest(now, { ...reading, ...otherwise }) }
}

function withClaims(count: number): WorldParts {
  const { declared = [], objects = [], members = [] } = loss(10, 0)
  const names = Array.from({ length: count }, (_, index) => `PersistentVolumeClaim/c${index}`)
  return {
    declared,
    objects: [...objects, ...names.map((name) => live(name))],
    members: [...members, ...names.map((name) => member(name))],
    deletion: { ...careful, allowDataDeletion: true },
  }
}

function withMember(parts: WorldParts, name: string): WorldParts {
  return { ...parts, members: [...(parts.members ?? []), member(name)] }
}

function terminating(parts: WorldParts): WorldParts {
  const namespace = live('Namespace/shop', {
    label: '',
    metadata: { deletionTimestamp: new Date(nowMs).toISOString() },
  })
  return { ...parts, objects: [...(parts.objects ?? []), namespace] }
}
