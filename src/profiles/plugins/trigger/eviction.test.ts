import { describe, expect, test } from 'vitest'
import { EvictionPace } from '../../../drain/index.ts'
import {
  ApiError,
  type EventNote,
  type KubeClient,
  type PodDisruptionBudget,
  type PodObject,
} from '../../../kube/index.ts'
import { createFor, nodeOf, noon, passOf, problemsFor } from '../../fixture-pass.ts'
import type { TriggerContext } from '../../plugin.ts'
import { tellsOverdue } from './drain-progress.ts'
import { eviction } from './eviction.ts'

const minute = 60_000
const mine = 'cordon.fettle.dev/profile-p'
const queues = 'cordon.fettle.dev/queue'
const prior = 'fettle.dev/cordon-prior'

interface World {
  readonly annotations?: Readonly<Record<string, string>>
  readonly isUnschedulable?: boolean
  readonly pods?: readonly PodObject[]
  /** What the API server says, if it knows other pods than the view. */
  readonly livePods?: readonly PodObject[]
  readonly budgets?: readonly PodDisruptionBudget[]
  readonly sinceMs?: number
  /** When this process began to ask; as a rule when the drain began. */
  readonly askedSinceMs?: number
  readonly cordonOwner?: string
  /** Refuses evictions with this. */
  readonly refusal?: Error
}

function worldOf(given: World = {}) {
  const { annotations = {}, isUnschedulable = false, pods = [], budgets = [], sinceMs = noon } = given
  const asked: string[] = []
  const notes: EventNote[] = []
  const listed: string[] = []
  const client = {
    async evict({ name }, { uid }) {
      if (given.refusal) throw given.refusal
      asked.push(`evict ${name} ${uid}`)
    },
    async delete(_, { name }, { uid, gracePeriodSeconds }) {
      asked.push(`delete ${name} ${uid} ${gracePeriodSeconds ?? 'own'}`)
    },
    async *list<T>({ plural }: { readonly plural: string }) {
      listed.push(plural)
      const items = plural === 'pods' ? (given.livePods ?? pods) : budgets
      yield { items: items as readonly unknown[] as readonly T[], resourceVersion: '1' }
    },
  } as Pick<KubeClient, 'evict' | 'delete' | 'list'> as KubeClient
  const ready = { type: 'Ready', status: 'True' }
  const node = { ...nodeOf('n1', { annotations, conditions: [ready] }), spec: { unschedulable: isUnschedulable } }
  const pass = passOf({ node, pods, client })
  // A budget without room is left alone for a moment when it is met first.
  const evictions = new EvictionPace(() => 0)
  evictions.due({ askNow: [], askLater: [{ pod: pod('before'), how: 'evict', budget: fullBudget }] }, noon - 10_000)
  for (let atMs = given.askedSinceMs ?? sinceMs; atMs < noon; atMs += 30_000)
    evictions.askingSinceMs(`${pass.node.uid} ${pass.profile}`, atMs)
  const context: TriggerContext = {
    ...pass,
    doors: { ...pass.doors, evictions, events: { record: (note) => void notes.push(note) } },
    sinceMs,
    cordonOwner: given.cordonOwner ?? 'profile-p',
  }
  return { context, asked, notes, listed }
}

const ownedBy = (kind: string) => [{ apiVersion: 'apps/v1', kind, name: 'web', uid: 'o', controller: true }]

function pod(name: string, metadata: object = {}, phase = 'Running', node = 'n1'): PodObject {
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid: `u-${name}`,
      labels: { app: 'web' },
      ownerReferences: ownedBy('ReplicaSet'),
      ...metadata,
    },
    spec: { nodeName: node },
    status: { phase, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const blocked = new ApiError({
  code: 'EvictionBlocked',
  method: 'POST',
  path: '/',
  seen: 'it would violate the budget',
})

const fullBudget: PodDisruptionBudget = {
  metadata: { namespace: 'shop', name: 'web', generation: 1 },
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  status: { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 },
}

describe('config', () => {
  test.for([
    ['cordon', 'evict', []],
    ['uncordon', 'evict', []],
    ['drain', 'refuse', []],
    ['Drain', 'evict', ["action: there is no 'Drain'; write cordon, uncordon or drain"]],
    ['', 'evict', ["action: there is no ''; write cordon, uncordon or drain"]],
    ['toString', 'evict', ["action: there is no 'toString'; write cordon, uncordon or drain"]],
    ['drain', 'keep', ["barePods: there is no 'keep'; write evict or refuse"]],
  ] as const)('%s, %s', ([action, barePods, problems]) => {
    expect(problemsFor(eviction, { action, barePods })).toEqual(problems)
  })

  test('waits ten minutes twice and forces nothing, unless said otherwise', () => {
    const { evictionTimeout, deletionTimeout, forceEviction } = eviction.fields
    expect([evictionTimeout.fallback, deletionTimeout.fallback, forceEviction.fallback]).toEqual([
      10 * minute,
      10 * minute,
      false,
    ])
  })

  test('only a drain acts outside', () => {
    const isOutside = (action: string) => createFor(eviction, { action }).isOutside
    expect(['cordon', 'uncordon', 'drain'].map(isOutside)).toEqual([false, false, true])
  })
})

describe('cordon', () => {
  const run = (world: World) => {
    const { context } = worldOf(world)
    expect(createFor(eviction, { action: 'cordon' }).run(context)).toBe('done')
    return context.node
  }

  test('notes who did it and what the node was before', () => {
    const { annotations, isUnschedulable } = run({})
    expect(isUnschedulable).toBe(true)
    expect(annotations).toEqual({
      [mine]: '{"request":"","token":0,"since":"2026-03-01T12:00:00.000Z"}',
      [prior]: 'false',
    })
  })

  test('a second time changes nothing', () => {
    const annotations = { [mine]: '{}', [prior]: 'false' }
    expect(run({ annotations, isUnschedulable: true }).annotations).toEqual(annotations)
  })

  test('beside the queue leaves what the queue noted', () => {
    const { annotations } = run({ annotations: { [queues]: '{}', [prior]: 'false' }, isUnschedulable: true })
    expect(annotations).toMatchObject({ [queues]: '{}', [prior]: 'false' })
    expect(annotations).toHaveProperty([mine])
  })

  test('names an owner that fits into a key, even for the longest profile', () => {
    const long = `profile-${'a'.repeat(63)}`
    const [key = ''] = Object.keys(run({ cordonOwner: long }).annotations)
    expect(key).toMatch(/^cordon\.fettle\.dev\/profile-[0-9a-f]{16}$/)
    const held = worldOf({ annotations: { [key]: '{}', [prior]: 'false' }, isUnschedulable: true, cordonOwner: long })
    void createFor(eviction, { action: 'uncordon' }).run(held.context)
    expect(held.context.node).toMatchObject({ isUnschedulable: false, annotations: {} })
  })
})

describe('uncordon', () => {
  test.for([
    ['its own cordon', { [mine]: '{}', [prior]: 'false' }, {}, false],
    [
      'its own cordon of a node that was cordoned before, as the original does',
      { [mine]: '{}', [prior]: 'true' },
      {},
      false,
    ],
    ["a person's cordon, as the original does", {}, {}, false],
    ['what is left of a cordon', { [prior]: 'true' }, {}, false],
    [
      'its own beside that of the queue',
      { [mine]: '{}', [queues]: '{}', [prior]: 'false' },
      { [queues]: '{}', [prior]: 'false' },
      true,
    ],
    ['that of the queue alone', { [queues]: '{}', [prior]: 'false' }, { [queues]: '{}', [prior]: 'false' }, true],
  ] as const)('%s', ([, before, after, isUnschedulable]) => {
    const { context } = worldOf({ annotations: before, isUnschedulable: true })
    expect(createFor(eviction, { action: 'uncordon' }).run(context)).toBe('done')
    expect(context.node).toMatchObject({ annotations: after, isUnschedulable })
    expect(Object.keys(context.node.annotations)).toEqual(Object.keys(after))
  })
})

describe('drain', () => {
  const drained = { annotations: { [mine]: '{}', [prior]: 'false' }, isUnschedulable: true }
  const run = (world: World, config: Partial<Parameters<typeof eviction.create>[0]> = {}) => {
    const made = worldOf(world)
    const outcome = createFor(eviction, { action: 'drain', ...config }).run(made.context)
    return { ...made, outcome: Promise.resolve(outcome) }
  }
  const retry = (text: string) => ({ retry: expect.stringContaining(text) as string })

  test('cordons first, and asks nobody before that is stored: they would come back', async () => {
    const { outcome, asked, context } = run({ pods: [pod('a')] })
    expect(await outcome).toEqual({ retry: 'the node is cordoned first' })
    expect(context.node.isUnschedulable).toBe(true)
    expect(asked).toEqual([])
  })

  test('cordons again what somebody uncordoned meanwhile', async () => {
    const { outcome, context } = run({ ...drained, isUnschedulable: false, pods: [pod('a')] })
    expect(await outcome).toEqual({ retry: 'the node is cordoned first' })
    expect(context.node.isUnschedulable).toBe(true)
  })

  test('of a node without pods is done once it is cordoned and the API server says so, too', async () => {
    expect(await run({}).outcome).toEqual({ retry: 'the node is cordoned first' })
    const { outcome, listed } = run(drained)
    expect(await outcome).toBe('done')
    expect(listed).toEqual(['pods'])
  })

  test('is not done while the API server knows of a pod that the view does not show', async () => {
    const { outcome } = run({ ...drained, livePods: [pod('late')] })
    expect(await outcome).toEqual(retry('pods that have come to the node meanwhile: 1'))
  })

  test('asks each pod, tells of it, and says how many are left', async () => {
    const { outcome, asked, notes } = run({ ...drained, pods: [pod('a'), pod('b'), pod('far', {}, 'Running', 'n2')] })
    expect(await outcome).toEqual({ retry: 'pods that are left: 2 (still there: 2 pods)' })
    expect(asked).toEqual(['evict a u-a', 'evict b u-b'])
    expect(
      notes.map(({ reason, action, type, regarding, related }) => [
        reason,
        action,
        type,
        regarding.name,
        related?.name,
      ]),
    ).toEqual([
      ['Evicting', 'Drain', 'Normal', 'a', 'n1'],
      ['Evicting', 'Drain', 'Normal', 'b', 'n1'],
    ])
  })

  test('asks nobody twice while the view may be behind, and one who refused not at once', async () => {
    const { context, asked } = worldOf({ ...drained, pods: [pod('a')] })
    const trigger = createFor(eviction, { action: 'drain' })
    for (const afterMs of [0, 1_000, 1_999, 2_000]) await trigger.run({ ...context, nowMs: noon + afterMs })
    expect(asked).toEqual(['evict a u-a', 'evict a u-a'])
    const refused = worldOf({ ...drained, pods: [pod('a')], refusal: blocked })
    const said = new Set<unknown>()
    for (const afterMs of [0, 4_999, 5_000]) {
      const outcome = await trigger.run({ ...refused.context, nowMs: noon + afterMs })
      said.add(outcome === 'done' ? outcome : outcome.retry)
    }
    expect(refused.notes).toHaveLength(2)
    expect([...said]).toEqual(['pods that are left: 1 (still there: 1 pod); shop/a: it would violate the budget'])
  })

  test.for([
    ['a DaemonSet', { ownerReferences: ownedBy('DaemonSet') }, 'Running', 2],
    ['the kubelet itself', { annotations: { 'kubernetes.io/config.mirror': 'x' } }, 'Running', 2],
    ['nobody', { ownerReferences: [] }, 'Running', 3],
    ['a job that is over', {}, 'Succeeded', 3],
  ] as const)('two pods and one of %s', async ([, metadata, phase, count]) => {
    const { outcome, asked } = run({ ...drained, pods: [pod('a'), pod('b'), pod('c', metadata, phase)] })
    expect(await outcome).toEqual(retry(`pods that are left: ${count}`))
    expect(asked).toHaveLength(count)
  })

  test('of pods that nothing starts again can be refused', async () => {
    const { outcome, asked } = run({ ...drained, pods: [pod('a', { ownerReferences: [] })] }, { barePods: 'refuse' })
    expect(await outcome).toEqual(retry('shop/a: it has no controller'))
    expect(asked).toEqual([])
  })

  test('names the budget that refuses, and asks it for one pod only', async () => {
    const { outcome, notes } = run({ ...drained, pods: [pod('a'), pod('b')], budgets: [fullBudget], refusal: blocked })
    expect(await outcome).toEqual(
      retry(
        'pods that are left: 2 (still there: 2 pods, cannot leave now: 2); shop/a: PodDisruptionBudget shop/web has nothing to give now',
      ),
    )
    expect(notes.map(({ regarding }) => regarding.name)).toEqual(['a'])
  })

  test('tells what only the server knew', async () => {
    const { outcome } = run({ ...drained, pods: [pod('a')], refusal: blocked })
    expect(await outcome).toEqual({
      retry: 'pods that are left: 1 (still there: 1 pod); shop/a: it would violate the budget',
    })
  })

  test('takes budgets from the view if it has them', async () => {
    const { context, listed, asked } = worldOf({ ...drained, pods: [pod('a')] })
    const cluster = { ...context.cluster, disruptionBudgets: () => [fullBudget] }
    const outcome = await createFor(eviction, { action: 'drain' }).run({ ...context, cluster })
    expect(outcome).toEqual(retry('PodDisruptionBudget shop/web'))
    expect([listed, asked]).toEqual([[], ['evict a u-a']])
  })

  const late = { ...drained, pods: [pod('a')], budgets: [fullBudget], sinceMs: noon - 10 * minute }

  test('goes on asking after evictionTimeout, and says so, unless it is forced', async () => {
    const { outcome, asked } = run(late)
    expect(await outcome).toEqual(
      retry('evictionTimeout of 10m is over, and forceEviction is off: a person has to help'),
    )
    expect(asked).toEqual(['evict a u-a'])
    const early = run({ ...late, sinceMs: noon - 10 * minute + 1 })
    expect(await early.outcome).not.toEqual(retry('evictionTimeout'))
  })

  test('deletes after evictionTimeout if it is forced, whatever the budget says', async () => {
    const { outcome, asked, notes } = run(late, { forceEviction: true })
    expect(await outcome).toEqual(retry('evictionTimeout of 10m is over: what is left is deleted'))
    expect(asked).toEqual(['delete a u-a own'])
    expect(notes.map(({ reason }) => reason)).toEqual(['ForceDeleting'])
    const early = run({ ...late, sinceMs: noon - 10 * minute + 1 }, { forceEviction: true })
    await early.outcome
    expect(early.asked).toEqual(['evict a u-a'])
  })

  test('which somebody else began long ago, or that stood still, first asks for evictionTimeout itself', async () => {
    for (const askedSinceMs of [noon, noon - 10 * minute + 1]) {
      const { outcome, asked } = run({ ...late, askedSinceMs }, { forceEviction: true })
      expect(await outcome).toEqual(retry('but nobody asked all the while: what is left is deleted after that long'))
      expect(asked).toEqual(['evict a u-a'])
    }
    const { context, asked } = worldOf({ ...late, sinceMs: noon - 60 * minute, askedSinceMs: noon })
    context.doors.evictions?.askingSinceMs(`${context.node.uid} p`, noon - 30 * minute)
    const config = createFor(eviction, { action: 'drain', forceEviction: true })
    await config.run(context)
    expect(asked).toEqual(['evict a u-a'])
  })

  test('honours the times that it is given', async () => {
    const config = { evictionTimeout: 532, deletionTimeout: 11 * minute, forceEviction: true }
    const { outcome, asked } = run({ ...late, sinceMs: noon - 532 }, config)
    expect(await outcome).not.toEqual(retry('did not leave'))
    expect(asked).toEqual(['delete a u-a own'])
  })

  test('tells people when pods take longer than both times, and goes on', async () => {
    const { outcome, notes, asked } = run({ ...late, sinceMs: noon - 20 * minute }, { forceEviction: true })
    expect(await outcome).toEqual(retry('pods did not leave within 20m; look at them, the drain goes on'))
    expect(notes.at(-1)).toMatchObject({
      type: 'Warning',
      reason: 'DrainOverdue',
      regarding: { kind: 'Node', name: 'n1' },
      note: 'profile p: pods did not leave within 20m: shop/a',
    })
    expect(asked).toHaveLength(1)
  })

  test.for([
    ['in time', { ...drained, pods: [pod('a')] }, false, false],
    ['late', late, false, false],
    ['overdue', { ...late, sinceMs: noon - 20 * minute }, false, true],
    ['overdue, and forced', { ...late, sinceMs: noon - 20 * minute }, true, true],
    ['done at last', { ...drained, sinceMs: noon - 20 * minute }, false, false],
  ] as const)('is counted as overdue only while it is: %s', async ([, world, forceEviction, isOverdue]) => {
    const outcome = await run(world, { forceEviction }).outcome
    expect(tellsOverdue(outcome === 'done' ? undefined : outcome.retry)).toBe(isOverdue)
  })

  test.for([
    ['not forced', false, 5 * minute, []],
    ['forced, its grace period is just over', true, 10_000, []],
    ['forced, and it should be gone for as long as its grace period', true, 20_001, ['delete a u-a 0']],
    ['forced, and not even its grace period is over', true, -10_000, []],
  ] as const)('a pod that is stopping: %s', async ([, forceEviction, overMs, wanted]) => {
    const metadata = {
      deletionTimestamp: new Date(noon - overMs).toISOString(),
      deletionGracePeriodSeconds: 20,
    }
    const { outcome, asked } = run({ ...drained, pods: [pod('a', metadata)] }, { forceEviction })
    expect(await outcome).toEqual(retry('pods that are left: 1 (still there: 1 pod, stopping: 1)'))
    expect(asked).toEqual(wanted)
  })

  test('what the API server says otherwise is told', async () => {
    const { outcome } = run({ ...drained, pods: [pod('a')], refusal: new Error('no rights to evict') })
    expect(await outcome).toEqual(retry('shop/a: no rights to evict'))
  })
})
