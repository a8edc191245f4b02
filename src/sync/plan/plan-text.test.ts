import { expect, test } from 'vitest'
import { agoText, declare, live, member, nowMs, stranger, type WorldParts, world } from './fixture-plan.ts'
import { planSync } from './plan-sync.ts'
import { type Planned, planMarkdown, planText } from './plan-text.ts'
import type { PlanInput } from './steps.ts'

const canary = 'hunter2'
const busy: WorldParts = {
  declared: [
    declare('Secret/new', { data: { password: canary } }),
    declare('ConfigMap/changed', { data: { greeting: canary } }),
    declare('ConfigMap/there', { data: { greeting: canary } }),
    declare('ConfigMap/other/far'),
    declare('ConfigMap/same'),
  ],
  objects: [
    live('ConfigMap/changed', { body: { data: { greeting: canary } } }),
    live('ConfigMap/same'),
    stranger('ConfigMap/there'),
    stranger('ConfigMap/kube-root-ca.crt'),
    stranger('Secret/hand-made'),
    live('Service/old'),
    live('PersistentVolumeClaim/data'),
    live('Deployment/later', { metadata: { annotations: { 'fettle.dev/confirm-deletion': 'true' } } }),
  ],
  members: [
    member('ConfigMap/changed'),
    member('ConfigMap/same'),
    member('ConfigMap/gone'),
    member('Service/old', { from: { path: 'old.yaml', document: 1, line: 4 } }),
    member('PersistentVolumeClaim/data'),
    member('Deployment/later'),
  ],
  policy: { mode: 'total' },
  deletion: { maxDeletes: 3, allowDataDeletion: true, strangerGraceMs: 600_000 },
  inventory: { strangers: { 'uid of Secret/hand-made': agoText(60_000) } },
  compare: ({ key }) =>
    key.name === 'changed' ? { is: 'drifted', fields: ['data.greeting'], by: 'kubectl-edit' } : { is: 'same' },
}
function planned(input: PlanInput): Planned {
  const { observed, inventory, revision } = input
  return { plan: planSync(input), observed, memory: { inventory }, tip: { sha: revision } }
}
const { opening } = planSync(world(busy))
const opened = planned(world({ ...busy, inventory: { ...busy.inventory, openingHash: opening?.hash ?? '' } }))

test('fields that an adoption removes are named, and their values are not', () => {
  const managedFields = [
    {
      ...{ manager: 'kubectl-client-side-apply', operation: 'Update' },
      fieldsV1: { 'f:data': { 'f:a': {}, 'f:hidden': {} } },
    },
  ]
  const seen = stranger('Secret/there', { metadata: { managedFields }, body: { data: { a: '1', hidden: canary } } })
  const input = world({ declared: [declare('Secret/there', { data: { a: '1' } })], objects: [seen] })
  const text = planText(planned(input), { isColored: false })
  expect(text).toContain(
    '  * Secret shop/there (there.yaml:1): it is there already and becomes ours; removed: data.hidden\n',
  )
  expect(text).not.toContain(canary)
  // Who agrees to a plan agrees to that as well.
  const without = { ...input, observed: { objects: [{ ...seen, metadata: {} }], unknown: [] } }
  expect(planSync(without).hash).not.toBe(planSync(input).hash)
})

test('a plan for a terminal: what is lost first, reasons, places, countdowns, what to do', () => {
  expect(planText(opened, { isColored: false, nowMs })).toBe(`Delete
  - PersistentVolumeClaim shop/data: nothing declares it any more (counts as 5)
  - Service shop/old: nothing declares it any more; it was declared at old.yaml:4
Create
  + Secret shop/new (new.yaml:1): it is not there yet
Change
  ~ ConfigMap shop/changed (changed.yaml:1): kubectl-edit changed it; git decides: data.greeting
Adopt
  * ConfigMap shop/there (there.yaml:1): it is there already and becomes ours
Wait
  . Secret shop/hand-made: nothing declares it; deleted in 9m
  . Deployment.apps shop/later: a person has to confirm that it goes (--confirm uid of Deployment/later)
Forget
  . ConfigMap shop/gone: nothing declares it, and it is gone
Keep
  . 1 object that nothing declares: root-ca 1
Conflict
  ! ConfigMap other/far: this Sync may not touch it: allow its namespace, or its kind for the whole cluster, or take it out of the repository
Nothing is deleted. Over budget: the plan deletes 2 objects that count as 6, because data and what takes others along counts five-fold; 3 may go at once
  to go on: read the list, then give --allow-deletes 6 or --approve ${opened.plan.hash}, or commit with the trailer "Sync-Allow-Deletes: 6"
1 object is as declared
Deletions count 6; up to 3 need no approval
Plan ${opened.plan.hash}
`)
})

test('who wants to know it all is told each object that stays', () => {
  expect(planText(opened, { isColored: false, isVerbose: true })).toContain(
    '  . ConfigMap shop/kube-root-ca.crt: it is published into every namespace, for programs to trust each other (root-ca)\n',
  )
})

test('without the time of day the time of deletion is named', () => {
  expect(planText(opened, { isColored: false })).toContain('nothing declares it; deleted at 2026-05-04T12:09:00.000Z')
})

test('strangers that nobody agreed to are said to need it', () => {
  const fresh = planned(world(busy))
  expect(planText(fresh, { isColored: false })).toContain(
    `No stranger is deleted. Opening list not approved: in mode total 1 object that nobody declares goes
  to go on: read the list; declare what is to stay (export writes the manifests), then give --approve ${fresh.plan.opening?.hash}`,
  )
})

test('colours only if wanted', () => {
  expect(planText(opened, { isColored: true })).toContain('\u001B[31mDelete\u001B[0m\n')
  expect(planText(opened, { isColored: false })).not.toContain('\u001B')
})

const settled = { declared: [declare('ConfigMap/a')], objects: [live('ConfigMap/a')], members: [member('ConfigMap/a')] }

test('nothing to do', () => {
  const still = planned(world(settled))
  expect(planText(still, { isColored: false })).toBe(
    `Nothing to do: 1 object is as declared\nPlan ${still.plan.hash}\n`,
  )
})

test('nothing to write of a commit that failed: that it failed, and why', () => {
  const verdict = { revision: 'abc', author: 'ada', subject: 'bad', at: agoText(0) }
  const why = 'Deployment.apps shop/web: the image cannot be pulled'
  const failed = planned(world({ ...settled, inventory: { verdicts: [{ ...verdict, is: 'Failed', why }] } }))
  expect(planText(failed, { isColored: false })).toBe(`Commit abc failed at ${agoText(0)}: ${why}
Nothing to write, and a run looks anew whether all is healthy: 1 object is as declared
Plan ${failed.plan.hash}
`)
  expect(planMarkdown(failed)).toContain(`Commit abc failed at`)
  const older = { ...verdict, revision: 'abb', is: 'Failed' as const, why }
  const overtaken = planned(world({ ...settled, inventory: { verdicts: [older, { ...verdict, is: 'Applied' }] } }))
  expect(planText(overtaken, { isColored: false })).not.toContain('failed')
})

test('an adoption names the fields that get another value, not those that only get another owner', () => {
  const fieldsV1 = { 'f:data': { '.': {}, 'f:greeting': {}, 'f:same': {} } }
  const text = planText(
    planned(
      world({
        declared: [declare('ConfigMap/a', { data: { greeting: 'new', same: 'x', more: 'y' } })],
        objects: [
          stranger('ConfigMap/a', {
            metadata: { managedFields: [{ manager: 'kubectl-create', operation: 'Update', fieldsV1 }] },
            body: { data: { greeting: 'old', same: 'x' } },
          }),
        ],
        compare: () => ({ is: 'changed', fields: ['data.greeting', 'data.more', 'data.same'] }),
      }),
    ),
    { isColored: false },
  )
  expect(text).toContain('it is there already and becomes ours: data.greeting, data.more\n')
})

test('no value is in any text', () => {
  for (const text of [planText(opened, { isColored: true, isVerbose: true }), planMarkdown(opened), opened.plan.hash])
    expect(text).not.toContain(canary)
})

test('for a change request: the halt, then deletions', () => {
  const text = planMarkdown(opened)
  expect(text.startsWith('> **Nothing is deleted. Over budget**: the plan deletes 2 objects')).toBe(true)
  const titles = ['Delete', 'Create', 'Change', 'Adopt', 'Wait', 'Forget', 'Keep', 'Conflict'].map((title) =>
    text.indexOf(`**${title}**`),
  )
  expect(titles).toEqual([...titles].sort((one, other) => one - other))
  expect(text).toContain('- Service shop/old: nothing declares it any more; it was declared at old.yaml:4\n')
})

test('a long plan is cut and says so', () => {
  const declared = Array.from({ length: 5_000 }, (_, index) => declare(`ConfigMap/name-${index}`))
  const long = planned(world({ declared }))
  const text = planMarkdown(long)
  expect(text.length).toBeLessThanOrEqual(60_000)
  const shown = text.split('\n').filter((line) => line.startsWith('- ConfigMap')).length
  expect(text).toContain(`- and ${5_000 - shown} more\n`)
  expect(text).toContain(`Plan ${long.plan.hash}`)
  expect(planMarkdown(long, { mostChars: 100 }).length).toBeLessThanOrEqual(100)
})

test('a name cannot pass for something else', () => {
  const sly = planned(world({ declared: [declare('ConfigMap/\u001B[2Jx <img src=y> @all')] }))
  expect(planText(sly, { isColored: false })).toContain('ConfigMap shop/\uFFFD[2Jx <img')
  expect(planMarkdown(sly)).toContain('ConfigMap shop/\uFFFD\\[2Jx \\<img src=y\\> \\@all')
})
