import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyRulesOf } from '../apply/annotations.ts'
import { keyId } from '../key.ts'
import { protectionOf } from '../observe/never-pruned.ts'
import { carefulDeletion } from '../policy.ts'
import { allowedDeletions, allowedWrites, isReplacement } from './allowed.ts'
import { weightOf } from './budget.ts'
import { agoText, declare, live, member, setId, type WorldParts, world } from './fixture-plan.ts'
import { planSync } from './plan-sync.ts'
import { whyUnknown } from './scope.ts'
import type { Difference, PlanInput, Step } from './steps.ts'

/** Whatever git, the cluster and the record say: what is in doubt is not deleted. */

const texts = [
  'ConfigMap',
  'Secret',
  'PersistentVolumeClaim',
  'Deployment',
  'Widget',
  'Service',
  'Namespace',
  'ConfigMap/other',
].flatMap((kind) => ['a', 'b', 'kube-root-ca.crt'].map((name) => `${kind}/${name}`))
const seldom = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 11 }, { arbitrary: one, weight: 1 })

/** What git, the cluster and the record know of one name. */
const things = fc.uniqueArray(
  fc.record({
    text: fc.constantFrom(...texts),
    isDeclared: fc.constantFrom(true, false, false),
    isLive: fc.constantFrom(true, true, false),
    isMember: fc.constantFrom(true, true, false),
    uid: fc.constantFrom('1', '1', '1', '2'),
    recordedUid: fc.constantFrom('1', '1', '2', undefined),
    label: fc.constantFrom(setId, setId, setId, setId, setId, '', 'theirs'),
    isKept: seldom(fc.constant(true as const)),
    orphanedAt: seldom(fc.integer({ min: -100_000, max: 1_000_000 }).map(agoText)),
    hasOwner: seldom(fc.constant(true)),
    isGoing: seldom(fc.constant(true)),
    annotation: seldom(fc.constantFrom('fettle.dev/keep', 'fettle.dev/confirm-deletion', 'meta.helm.sh/release-name')),
    uses: fc.constantFrom('a', 'b', 'c'),
    apply: fc.constantFrom('ignore', 'ifNotPresent', 'ifNotPresent', undefined, undefined, undefined),
    replace: fc.constantFrom('always', 'always', 'auto', undefined),
    difference: fc.constantFrom<Difference>(
      { is: 'same' },
      { is: 'changed', fields: [] },
      { is: 'drifted', fields: [] },
    ),
  }),
  { selector: ({ text }) => text, maxLength: 14 },
)
const circumstances = fc.record({
  mode: fc.constantFrom('observe', 'adopt', 'adopt', 'total', 'total', 'total'),
  adoption: fc.constantFrom('always', 'ifUnowned', 'ifUnowned', 'never'),
  isOpened: fc.boolean(),
  memberGraceMs: fc.constantFrom(0, 0, 60_000),
  strangerGraceMs: fc.constantFrom(0, 600_000),
  allowDataDeletion: fc.boolean(),
  allowEmpty: fc.boolean(),
  maxDeletes: fc.nat({ max: 30 }),
  maxDeletePercent: fc.constantFrom(20, 100, 100),
  allowDeletes: seldom(fc.nat({ max: 10 })),
  deleted: fc.constantFrom(0, 0, 45, 49, 60),
  unknown: seldom(
    fc.constantFrom(
      { group: 'example.com', why: '' },
      { group: '', kind: 'ConfigMap', why: '' },
      { group: '', kind: 'Pod', why: '' },
    ),
  ),
  isConfirmed: fc.boolean(),
  isReadOtherwise: seldom(fc.constant(true)),
})
type Things = typeof things extends fc.Arbitrary<infer All> ? All : never
type Circumstances = typeof circumstances extends fc.Arbitrary<infer One> ? One : never

function worldOf(all: Things, how: Circumstances): PlanInput {
  const owner = { apiVersion: 'v1', kind: 'Boss', name: 'b', uid: 'boss' }
  const isOnlyMade = (apply: string | undefined) => apply === 'ignore' || apply === 'ifNotPresent'
  const differences = new Map(
    all.map(({ text, difference, apply }) => [
      keyId(declare(text).key),
      isOnlyMade(apply) ? { is: 'same' as const } : difference,
    ]),
  )
  const uidOf = (text: string, uid: string) => `${text} ${uid}`
  const parts: WorldParts = {
    // Seldom out of reach: one such object stops everything.
    declared: all
      .filter((one) => one.isDeclared && (one.isKept || !/other|Namespace/.test(one.text)))
      .map(({ text, apply, replace }) => {
        const annotations = {
          ...(apply === undefined ? {} : { 'fettle.dev/apply': apply }),
          ...(replace === undefined ? {} : { 'fettle.dev/replace': replace }),
        }
        return declare(text, { annotations })
      }),
    objects: all
      .filter((one) => one.isLive)
      .map(({ text, uid, label, hasOwner, isGoing, annotation, uses }) =>
        live(text, {
          uid: uidOf(text, uid),
          label,
          metadata: {
            ...(hasOwner ? { ownerReferences: [owner] } : {}),
            ...(isGoing ? { deletionTimestamp: agoText(1_000) } : {}),
            ...(annotation === undefined ? {} : { annotations: { [annotation]: 'true' } }),
          },
          body: { spec: { template: { spec: { volumes: [{ configMap: { name: uses } }] } } } },
        }),
      ),
    members: all
      .filter((one) => one.isMember)
      .map(({ text, recordedUid, isKept, orphanedAt }) => {
        const { uid: _, ...record } = member(text)
        return {
          ...record,
          ...(recordedUid === undefined ? {} : { uid: uidOf(text, recordedUid) }),
          ...(isKept ? { isKept } : {}),
          ...(orphanedAt === undefined ? {} : { orphanedAt }),
        }
      }),
    unknown: how.unknown ? [how.unknown] : [],
    policy: { mode: how.mode, adoption: how.adoption },
    deletion: { ...carefulDeletion, ...how },
    permits: {
      ...(how.allowDeletes === undefined ? {} : { allowDeletes: how.allowDeletes }),
      confirmed: how.isConfirmed ? all.map(({ text, uid }) => uidOf(text, uid)) : [],
    },
    inventory: {
      deletions: Array.from({ length: how.deleted }, () => agoText(1_000)),
      revision: 'abc',
      digest: how.isReadOtherwise ? 'app.before' : 'app.now',
    },
    digest: 'app.now',
    compare: ({ key }) => differences.get(keyId(key)) ?? { is: 'same' },
  }
  const input = world(parts)
  const { opening } = planSync(input)
  return how.isOpened && opening ? { ...input, inventory: { ...input.inventory, openingHash: opening.hash } } : input
}

const worlds = fc.tuple(things, circumstances).map(([all, how]) => worldOf(all, how))

test('a deletion is of something seen, in reach, known, undeclared, unprotected, and ours or agreed to', () => {
  let deletions = 0
  fc.assert(
    fc.property(worlds, (input) => {
      const { declared, observed, inventory, policy, permits, nowMs } = input
      // Even if a person agrees to all of it.
      const plan = planSync({ ...input, permits: { ...permits, approve: planSync(input).hash } })
      const keys = new Set(declared.map(({ key }) => keyId(key)))
      const view = { objects: observed.objects, unknown: observed.unknown, declared: keys, policy, setId, nowMs }
      for (const { key, uid, isStranger } of plan.steps.filter((step) => step.do === 'delete')) {
        deletions += 1
        const object = observed.objects.find((one) => one.uid === uid && keyId(one.key) === keyId(key))
        const record = inventory.members.find((one) => keyId(one.key) === keyId(key))
        if (!object) throw new Error('nobody saw it')
        expect(keys.has(keyId(key))).toBe(false)
        expect(whyUnknown(key, observed.unknown)).toBeUndefined()
        expect(protectionOf(object, view, !isStranger)).toBeUndefined()
        expect(key.namespace === '' ? key.kind : key.namespace).toBe('shop')
        const annotations = object.metadata.annotations ?? {}
        if ('fettle.dev/confirm-deletion' in annotations) expect(permits.confirmed).toContain(uid)
        if (isStranger) {
          expect(policy.mode).toBe('total')
          expect(inventory.openingHash).toBeDefined()
        } else {
          expect(object.metadata.labels).toHaveProperty(['applyset.kubernetes.io/part-of'], setId)
          expect(record).toBeDefined()
          expect(record?.isKept).toBeUndefined()
        }
      }
    }),
    { numRuns: 600 },
  )
  // Or the property would hold because nothing ever goes.
  expect(deletions).toBeGreaterThan(100)
})

test('never more than the budget, with what is made anew, and nothing after a halt, a conflict or in mode observe', () => {
  let replaced = 0
  fc.assert(
    fc.property(worlds, (input) => {
      const plan = planSync(input)
      const { policy, inventory, permits } = input
      const anew = allowedWrites(plan, policy).filter(isReplacement)
      replaced += anew.length
      const mayGo = [...allowedDeletions(plan, policy), ...anew]
      const weight = mayGo.reduce((sum, { key }) => sum + weightOf(key), 0)
      expect(weight).toBeLessThanOrEqual(plan.budget.limit)
      const { maxDeletes, maxDeletesPerHour } = policy.deletion
      expect(plan.budget.limit).toBeLessThanOrEqual(Math.max(maxDeletes, permits.allowDeletes ?? 0))
      if (mayGo.length > 0 && permits.allowDeletes === undefined)
        expect(mayGo.length + inventory.deletions.length).toBeLessThanOrEqual(maxDeletesPerHour)
      if (mayGo.length > 0) expect(inventory.digest).toBe(input.digest)
      if (mayGo.length > 0 && input.declared.length === 0) expect(policy.deletion.allowEmpty).toBe(true)
      const isStopped = policy.mode === 'observe' || plan.steps.some((step) => step.do === 'conflict')
      if (isStopped) expect([...mayGo, ...allowedWrites(plan, policy)]).toEqual([])
    }),
    { numRuns: 600 },
  )
  expect(replaced).toBeGreaterThan(5)
})

test('each name that git or the record knows has one state', () => {
  fc.assert(
    fc.property(worlds, (input) => {
      const plan = planSync(input)
      const stated = plan.steps.map(({ key }) => keyId(key))
      for (const { key } of input.declared)
        expect(stated.filter((id) => id === keyId(key)).length).toBeLessThanOrEqual(1)
      const declared = new Set(input.declared.map(({ key }) => keyId(key)))
      for (const { key } of [...input.inventory.members, ...input.observed.objects])
        if (!declared.has(keyId(key))) expect(stated).toContain(keyId(key))
      const written = plan.steps.filter((step) => 'declared' in step || declared.has(keyId(step.key)))
      expect(written.length + plan.unchanged).toBe(declared.size)
    }),
  )
})

test('the order in which things are read is nothing, and neither is the time of a plan without countdowns', () => {
  fc.assert(
    fc.property(worlds, fc.nat(), (input, turn) => {
      const turned = <T>(all: readonly T[]) =>
        [...all.slice(turn % (all.length + 1)), ...all.slice(0, turn % (all.length + 1))].reverse()
      const plan = planSync(input)
      const other = planSync({
        ...input,
        declared: turned(input.declared),
        observed: { ...input.observed, objects: turned(input.observed.objects) },
        inventory: { ...input.inventory, members: turned(input.inventory.members) },
      })
      expect(other).toEqual(plan)
      if (plan.steps.some((step) => step.do === 'wait' || step.do === 'keep')) return
      expect(planSync({ ...input, nowMs: input.nowMs + 1_000 }).hash).toBe(plan.hash)
    }),
  )
})

test('an approval fits its plan and no other', () => {
  fc.assert(
    fc.property(worlds, worlds, (input, other) => {
      const { hash } = planSync(input)
      const approved = (world: PlanInput) => planSync({ ...world, permits: { ...world.permits, approve: hash } })
      const lifted = [
        'SameCommitOtherContent',
        'OverBudget',
        'OverHourlyBudget',
        'DeclaredSetEmpty',
        'DeclaredSetShrank',
        'KindLost',
      ]
      expect(approved(input).halts.filter(({ reason }) => lifted.includes(reason))).toEqual([])
      const without = planSync(other)
      if (without.hash === hash) return
      expect(approved(other).halts.map(({ reason }) => reason)).toEqual(without.halts.map(({ reason }) => reason))
    }),
  )
})

test('what is left to others is never written, and what is only made if it is missing at most once', () => {
  let quiet = 0
  fc.assert(
    fc.property(worlds, (input) => {
      const modeOf = (step: Step) => ('declared' in step ? applyRulesOf(step.declared.body).mode : undefined)
      const first = planSync(input).steps
      expect(first.filter((step) => modeOf(step) === 'ignore')).toEqual([])
      // As a run records it that leaves them as they are.
      const seen = first.flatMap((step) => {
        if (modeOf(step) !== 'ifNotPresent' || !('declared' in step) || step.do === 'create') return []
        return [{ key: step.key, uid: step.uid, apiVersion: step.declared.apiVersion }]
      })
      quiet += seen.length
      const ids = new Set(seen.map(({ key }) => keyId(key)))
      const others = input.inventory.members.filter(({ key }) => !ids.has(keyId(key)))
      const second = planSync({ ...input, inventory: { ...input.inventory, members: [...others, ...seen] } }).steps
      expect(second.filter(({ key }) => ids.has(keyId(key)))).toEqual([])
    }),
    { numRuns: 600 },
  )
  expect(quiet).toBeGreaterThan(5)
})

test('when all is as declared, there is nothing to do', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...texts.filter((text) => !/other|Namespace/.test(text)))), (names) => {
      const parts = { declared: names.map((name) => declare(name)), objects: names.map((name) => live(name)) }
      const plan = planSync(world({ ...parts, members: names.map((name) => member(name)), policy: { mode: 'total' } }))
      expect(plan).toMatchObject({ steps: [], unchanged: names.length, halts: [] })
    }),
  )
})

test('the hash tells bodies apart, but those of Secrets only with a key', () => {
  const hash = (kind: string, value: string, hashKey?: string) =>
    planSync(
      world({
        declared: [declare(`${kind}/a`, { data: { password: value } })],
        ...(hashKey === undefined ? {} : { hashKey }),
      }),
    ).hash
  expect(hash('ConfigMap', 'one')).not.toBe(hash('ConfigMap', 'two'))
  expect(hash('Secret', 'one')).toBe(hash('Secret', 'two'))
  expect(hash('Secret', 'one', 'key')).not.toBe(hash('Secret', 'two', 'key'))
  expect(hash('Secret', 'one', 'key')).not.toBe(hash('Secret', 'one', 'other key'))
})
