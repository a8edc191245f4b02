import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ModelServer } from '../../kube/cache/model-server.ts'
import {
  ApiError,
  type DeleteOptions,
  type KubeClient,
  type KubeErrorCode,
  type KubeObject,
  type ObjectMeta,
  type ObjectRef,
  type Resource,
  resources,
} from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { type PruneOptions, type PruneStep, pruneAll } from './prune.ts'

const fault = (code: KubeErrorCode, seen = 'the test refuses') =>
  new ApiError({ code, method: 'DELETE', path: '/model', seen })

const setId = 'applyset-ours-v1'
const partOf = 'applyset.kubernetes.io/part-of'
const ours = { [partOf]: setId }

interface World {
  readonly server: ModelServer
  readonly client: KubeClient
  readonly deleted: { readonly name: string; readonly options: DeleteOptions }[]
  /** Instead of the next deletions. */
  readonly faults: (ApiError | (() => void))[]
  readonly most: () => number
  /** Names of what was read one by one. */
  readonly read: string[]
  readonly change: (name: string, metadata: Partial<ObjectMeta>) => void
}

/** A server with one collection that deletes as the real one does, UID and version checked. */
function world(...names: readonly string[]): World {
  const server = new ModelServer()
  for (const name of names) server.put(name, ours)
  const deleted: World['deleted'] = []
  const faults: World['faults'] = []
  const read: string[] = []
  let [underway, most] = [0, 0]
  const client = {
    list: server.list.bind(server),
    watch: server.watch.bind(server),
    get: async (_: Resource, { name }: ObjectRef): Promise<KubeObject> => {
      await Promise.resolve()
      read.push(name)
      const found = server.objects.get(name)
      if (!found) throw fault('NotFound')
      return found
    },
    delete: async (_: Resource, { name }: ObjectRef, options: DeleteOptions) => {
      most = Math.max(most, ++underway)
      await new Promise((resolve) => setImmediate(resolve))
      underway--
      const instead = faults.shift()
      if (instead instanceof ApiError) throw instead
      instead?.()
      const { uid, resourceVersion } = server.objects.get(name)?.metadata ?? {}
      if (uid === undefined) throw fault('NotFound')
      if (uid !== options.uid || (options.resourceVersion ?? resourceVersion) !== resourceVersion)
        throw fault('Conflict')
      deleted.push({ name, options })
      server.remove(name)
    },
  } as unknown as KubeClient
  const change: World['change'] = (name, metadata) => {
    server.put(name, ours)
    const object = server.objects.get(name)
    if (object) server.objects.set(name, { ...object, metadata: { ...object.metadata, ...metadata } })
  }
  return { server, client, deleted, faults, most: () => most, read, change }
}

function step({ server }: World, name: string, more: Partial<PruneStep> = {}): PruneStep {
  return {
    do: 'delete',
    key: { group: '', kind: 'ConfigMap', namespace: 'shop', name },
    resource: resources.configMaps,
    apiVersion: 'v1',
    uid: server.objects.get(name)?.metadata.uid ?? 'none',
    resourceVersion: server.objects.get(name)?.metadata.resourceVersion ?? 'none',
    isStranger: false,
    layer: 1,
    weight: 1,
    why: 'no file declares it',
    ...more,
  }
}

const stranger: Partial<PruneStep> = { isStranger: true }

async function prune({ client }: World, steps: readonly PruneStep[], more: Partial<PruneOptions> = {}) {
  const gone: string[] = []
  const outcomes = await pruneAll(client, steps, {
    clock: new FakeClock(),
    setId,
    timeoutMs: 300_000,
    signal: new AbortController().signal,
    mayGoOn: () => Promise.resolve(undefined),
    onGone: ({ name }) => gone.push(name),
    ...more,
  })
  return { gone, is: Object.fromEntries(outcomes.map((one) => [one.key.name, one.is])), outcomes }
}

test('the highest layer goes first, and the fence is asked before each', async () => {
  const here = world('low', 'middle', 'high')
  const asked: number[] = []
  const { gone, is } = await prune(
    here,
    [step(here, 'middle', { layer: 5 }), step(here, 'low', { layer: 0 }), step(here, 'high', { layer: 9 })],
    {
      mayGoOn: () => {
        asked.push(here.deleted.length)
        return Promise.resolve(undefined)
      },
    },
  )
  expect(gone).toEqual(['high', 'middle', 'low'])
  expect(is).toEqual({ high: 'Gone', middle: 'Gone', low: 'Gone' })
  expect(asked).toEqual([0, 1, 2])
})

test('each deletion carries the UID and the version of the plan; only strangers are read before', async () => {
  const here = world('member', 'stranger')
  await prune(here, [step(here, 'member'), step(here, 'stranger', stranger)])
  const carried = here.deleted.map(({ name, options: { uid, resourceVersion } }) => ({ name, uid, resourceVersion }))
  expect(carried.sort((one, other) => one.name.localeCompare(other.name))).toEqual([
    { name: 'member', uid: 'uid-1', resourceVersion: '2' },
    { name: 'stranger', uid: 'uid-2', resourceVersion: '3' },
  ])
  expect(here.read).toEqual(['stranger'])
})

const owner = { apiVersion: 'v1', kind: 'Boss', name: 'b', uid: 'boss' }
const confirm = { annotations: { 'fettle.dev/confirm-deletion': 'true' } }

test.for<[string, Partial<ObjectMeta>, string]>([
  [
    'is marked to stay',
    { annotations: { 'fettle.dev/keep': 'an audit' } },
    'it is marked to stay now: fettle.dev/keep',
  ],
  ['was taken by another Sync', { labels: { ...ours, [partOf]: 'theirs' } }, 'it belongs to the set theirs now'],
  ['lost our label', { labels: {} }, 'somebody took our label off it'],
  ['got an owner', { ownerReferences: [owner] }, 'it belongs to Boss b now'],
  ['needs a confirmation', confirm, '--confirm uid-1'],
])('a member that %s after the plan was made stays', async ([, metadata, why]) => {
  const here = world('one')
  const steps = [step(here, 'one')]
  here.change('one', metadata)
  const { is, outcomes } = await prune(here, steps)
  expect([is, outcomes[0]?.why]).toEqual([{ one: 'Changed' }, expect.stringContaining(why)])
  expect(here.server.objects.size).toBe(1)
})

test('a member that changed otherwise goes by its new version, as does one whose deletion was confirmed', async () => {
  const here = world('moved', 'confirmed')
  const steps = [step(here, 'moved'), step(here, 'confirmed', { isConfirmed: true })]
  here.change('moved', { annotations: { 'example.org/note': 'x' } })
  here.change('confirmed', confirm)
  expect((await prune(here, steps)).is).toEqual({ moved: 'Gone', confirmed: 'Gone' })
  expect(here.deleted.every(({ options }) => options.resourceVersion !== undefined)).toBe(true)
})

test('a member whose status never rests goes in the end, by its UID and after a last look', async () => {
  const here = world('restless')
  const steps = [step(here, 'restless')]
  for (let at = 0; at < 20; at++) here.faults.push(() => here.change('restless', {}))
  expect((await prune(here, steps)).is).toEqual({ restless: 'Gone' })
  expect(here.deleted.map(({ options }) => options)).toMatchObject([{ uid: 'uid-1' }])
  expect(here.read).toHaveLength(4)
})

test('a layer that is not wholly gone stops what lies below', async () => {
  const here = world('low', 'high', 'beside')
  here.faults.push(fault('Forbidden', 'a webhook says no'))
  const { is, outcomes } = await prune(here, [
    step(here, 'high', { layer: 2 }),
    step(here, 'beside', { layer: 2 }),
    step(here, 'low', { layer: 1 }),
  ])
  expect(is).toEqual({ high: 'Refused', beside: 'Gone', low: 'Refused' })
  expect(outcomes[0]?.why).toContain('a webhook says no')
  expect(outcomes[2]?.why).toBe('not begun: ConfigMap shop/high is still there and may need it')
  expect([...here.server.objects.keys()]).toEqual(['low', 'high'])
})

test('a stranger that changed after the plan stays, also when it changed at the last moment', async () => {
  const here = world('before', 'during')
  const steps = ['before', 'during'].map((name) => step(here, name, stranger))
  here.server.put('before', { changed: 'yes' })
  here.faults.push(() => here.server.put('during', { changed: 'yes' }))
  expect((await prune(here, steps)).is).toEqual({ before: 'Changed', during: 'Changed' })
  expect(here.server.objects.size).toBe(2)
})

test('what is gone already, or another object by now, counts as gone and is not deleted', async () => {
  const here = world('gone', 'other', 'strange')
  const steps = [step(here, 'gone'), step(here, 'other'), step(here, 'strange', stranger)]
  for (const name of ['gone', 'other', 'strange']) here.server.remove(name)
  here.server.put('other')
  here.server.put('strange')
  const { is, gone } = await prune(here, steps)
  expect(is).toEqual({ gone: 'Gone', other: 'Gone', strange: 'Gone' })
  expect(gone.toSorted()).toEqual(['gone', 'other', 'strange'])
  expect([here.deleted.length, here.server.objects.size]).toEqual([0, 2])
})

test('a conflict that is none is tried again, and not for ever', async () => {
  const here = world('one')
  here.faults.push(fault('Conflict'), fault('Conflict'))
  expect((await prune(here, [step(here, 'one')])).is).toEqual({ one: 'Gone' })
  const there = world('one')
  there.faults.push(...Array.from({ length: 5 }, () => fault('Conflict')))
  expect((await prune(there, [step(there, 'one')])).is).toEqual({ one: 'Refused' })
})

test('a refusal about a Secret never quotes the server', async () => {
  const here = world('token')
  here.faults.push(fault('Invalid', 'canary-value is not allowed'))
  const key = { group: '', kind: 'Secret', namespace: 'shop', name: 'token' }
  const { outcomes } = await prune(here, [step(here, 'token', { key, resource: resources.secrets })])
  expect(outcomes).toMatchObject([{ is: 'Refused', why: 'the server answered Invalid (no status)' }])
})

test('a sentence of the fence refuses all that has not begun', async () => {
  const here = world('one')
  const { outcomes } = await prune(here, [step(here, 'one')], { mayGoOn: () => Promise.resolve('another writer came') })
  expect(outcomes).toMatchObject([{ is: 'Refused', why: 'another writer came' }])
  expect(here.server.objects.size).toBe(1)
})

test('an abort throws its reason, and nothing further is deleted', async () => {
  const here = world('high', 'low')
  const end = new AbortController()
  const pruning = prune(here, [step(here, 'high', { layer: 2 }), step(here, 'low')], {
    signal: end.signal,
    onGone: () => end.abort(new Error('the turn is over')),
  })
  await expect(pruning).rejects.toThrow('the turn is over')
  expect([...here.server.objects.keys()]).toEqual(['low'])
})

test('what cannot be watched in time is not deleted', async () => {
  const here = world('one')
  const clock = new FakeClock()
  const client = { ...here.client, watch: silence } as unknown as KubeClient
  const pruning = prune({ ...here, client }, [step(here, 'one')], { clock, timeoutMs: 5_000 })
  await clock.advance(5_000)
  expect((await pruning).outcomes).toMatchObject([
    { is: 'Refused', why: 'not begun: configmaps could not be watched within 5 s; try again' },
  ])
  expect(here.deleted).toEqual([])
})

/** The events of a server that never answers. */
const silence = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) })

test('at most 32 deletions are under way at a time', async () => {
  const names = Array.from({ length: 100 }, (_, at) => `n-${at}`)
  const here = world(...names)
  const { gone } = await prune(
    here,
    names.map((name) => step(here, name)),
  )
  expect([gone.length, here.most()]).toEqual([100, 32])
})

test('whatever happens between plan and deletion, only objects of the plan go', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const fate = fc.constantFrom('stays', 'changes', 'is taken', 'goes', 'is reborn')
  const plan = fc.record({
    isPlanned: fc.boolean(),
    isStranger: fc.boolean(),
    layer: fc.integer({ min: 0, max: 3 }),
    fate,
  })
  await fc.assert(
    fc.asyncProperty(fc.tuple(plan, plan, plan, plan, plan), async (plans) => {
      const here = world(...names)
      const steps = plans.flatMap(({ isPlanned, isStranger, layer }, at) => {
        const name = names[at] ?? ''
        return isPlanned ? [step(here, name, { layer, ...(isStranger ? stranger : {}) })] : []
      })
      for (const [at, { fate }] of plans.entries()) {
        const name = names[at] ?? ''
        if (fate === 'changes') here.server.put(name, { ...ours, changed: 'yes' })
        if (fate === 'is taken') here.server.put(name, { [partOf]: 'theirs' })
        if (fate === 'goes' || fate === 'is reborn') here.server.remove(name)
        if (fate === 'is reborn') here.server.put(name)
      }
      const { outcomes } = await prune(here, steps)
      const planned = new Set(steps.map(({ uid }) => uid))
      expect(here.deleted.every(({ options }) => planned.has(options.uid))).toBe(true)
      expect(outcomes).toHaveLength(steps.length)
      for (const [at, { isStranger, fate }] of plans.entries()) {
        const name = names[at] ?? ''
        const isMine = here.deleted.some((one) => one.name === name)
        const isSpared = fate === 'is reborn' || fate === 'goes' || fate === 'is taken'
        if (isSpared || (fate === 'changes' && isStranger)) expect(isMine).toBe(false)
        const outcome = outcomes.find(({ key }) => key.name === name)
        if (outcome?.is === 'Gone' && fate !== 'is reborn') expect(here.server.objects.has(name)).toBe(false)
      }
    }),
    { numRuns: 60 },
  )
})
