import { describe, expect, test } from 'vitest'
import type { AskResult } from './ask-pods.ts'
import { budget, critical, ofPriority, owner, pod, stopped, world } from './fixture-pods.ts'
import { previewDrain } from './preview.ts'

const none = new Map<string, AskResult>()
const answers = (...results: AskResult[]) => new Map(results.map((one) => [one.asked.pod.metadata.uid ?? '', one]))
const asked = (name: string) => ({ pod: pod(name), how: 'evict' }) as const
const three = ['a', 'b', 'c'].map((name) => pod(name))
const never = { ...budget(0), spec: { ...budget(0).spec, maxUnavailable: 0 } }
const leaves = (preview: ReturnType<typeof previewDrain>) =>
  Object.fromEntries(preview.pods.map((one) => [one.pod, one.leaves]))

test('each pod is named, in the order of the drain, with what becomes of it', () => {
  const pods = [
    ofPriority('dns', critical, { labels: {} }),
    pod('daemon', { ownerReferences: owner('DaemonSet') }),
    pod('a'),
  ]
  expect(previewDrain(world(pods), none)).toEqual({
    pods: [
      {
        pod: 'shop/daemon',
        fate: 'stay',
        stage: 'ordinary',
        leaves: 'stays',
        why: 'DaemonSet web would start it again on this node',
      },
      {
        pod: 'shop/a',
        fate: 'evict',
        stage: 'ordinary',
        leaves: 'now',
        why: 'ReplicaSet web starts it again elsewhere',
      },
      {
        pod: 'shop/dns',
        fate: 'evict',
        stage: 'critical',
        leaves: 'now',
        why: 'ReplicaSet web starts it again elsewhere',
      },
    ],
    budgets: [],
    warnings: [],
    canFinish: true,
  })
})

test('a DaemonSet to stop is shown behind all others; a name that no DaemonSet has is a warning and stops nothing', () => {
  const pods = [pod('daemon', { ownerReferences: owner('DaemonSet') }), ofPriority('dns', critical)]
  const names = [
    { namespace: 'shop', name: 'web' },
    { namespace: 'shop', name: 'wbe' },
  ]
  const preview = previewDrain(world(pods, { ...stopped, settings: { stopDaemonSets: names } }), none)
  expect(preview.pods.map(({ pod: name, leaves: when, stage }) => [name, when, stage])).toEqual([
    ['shop/dns', 'now', 'critical'],
    ['shop/daemon', 'now', 'daemonSet'],
  ])
  expect(preview.warnings).toEqual([
    'DaemonSet shop/wbe is to be stopped, and does not exist: look at its namespace and its name',
  ])
  expect(preview.canFinish).toBe(true)
})

test('of DaemonSets of which nothing is known nothing is said', () => {
  expect(previewDrain(world([], { settings: stopped.settings }), none).warnings).toEqual([])
})

describe('budgets', () => {
  test('that let one go at a time: the sum shows what no dry run alone does', () => {
    const yes = answers(
      ...three.map(({ metadata }) => ({ asked: asked(metadata.name ?? ''), result: 'accepted' as const })),
    )
    const preview = previewDrain(world(three, { budgets: [budget(1)] }), yes)
    expect(leaves(preview)).toEqual({ 'shop/a': 'now', 'shop/b': 'later', 'shop/c': 'later' })
    expect(preview.pods[1]).toMatchObject({
      pdb: 'shop/web',
      dryRun: 'accepted',
      why: 'ReplicaSet web starts it again elsewhere, when those before it are ready again elsewhere: PodDisruptionBudget shop/web lets 1 go at a time',
    })
    expect(preview.budgets).toEqual([{ pdb: 'shop/web', pods: 3, mayLeaveNow: 1, neverPasses: false }])
    expect(preview.canFinish).toBe(true)
  })

  test('that can never let one go need a person', () => {
    const preview = previewDrain(world(three, { budgets: [never] }), none)
    expect(leaves(preview)).toEqual({ 'shop/a': 'never', 'shop/b': 'never', 'shop/c': 'never' })
    expect(preview.budgets).toEqual([{ pdb: 'shop/web', pods: 3, mayLeaveNow: 0, neverPasses: true }])
    expect(preview.canFinish).toBe(false)
  })
})

describe('what the server answers', () => {
  test('counts where no figure shows it', () => {
    const preview = previewDrain(
      world(three),
      answers(
        { asked: asked('a'), result: 'failed', why: 'a webhook denied it' },
        { asked: asked('b'), result: 'refused', why: 'its namespace is being deleted' },
        { asked: asked('c'), result: 'gone' },
      ),
    )
    expect(preview.pods.map(({ leaves: when, why, dryRun }) => [when, why, dryRun])).toEqual([
      ['never', 'a webhook denied it', 'failed: a webhook denied it'],
      ['later', 'its namespace is being deleted', 'refused: its namespace is being deleted'],
      ['now', 'ReplicaSet web starts it again elsewhere', 'gone'],
    ])
    expect(preview.canFinish).toBe(false)
  })
})

test('a pod without a controller needs a person', () => {
  const preview = previewDrain(world([pod('alone', { ownerReferences: [] })]), none)
  expect(preview).toMatchObject({ pods: [{ leaves: 'never', fate: 'refuse' }], canFinish: false })
})
