import { expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest } from '../api/index.ts'
import type { KubeClient } from '../kube/index.ts'
import { nodeOf } from './fixture-pass.ts'
import { giveBack, type SlotPorts, whyNoSlot } from './slots.ts'

const node = nodeOf('n1')

interface World {
  readonly profiles?: string
  readonly requests?: readonly MaintenanceRequest[]
}

function portsOf({ profiles, requests = [] }: World) {
  const writes: string[] = []
  const created: MaintenanceRequest[] = []
  const client = {
    create: async (_: unknown, request: MaintenanceRequest) => {
      created.push(request)
      return request
    },
    patch: async (_: unknown, { name }: { readonly name: string }, { body }: { readonly body: object }) =>
      void writes.push(`${name} ${JSON.stringify(body)}`),
  } as unknown as KubeClient
  const budget = profiles === undefined ? undefined : ({ metadata: {}, spec: { profiles } } as MaintenanceBudget)
  const views = {
    budgets: { get: () => budget },
    requests: { byIndex: (_: string, uid: string) => requests.filter(({ spec }) => spec.nodeUID === uid) },
  } as unknown as SlotPorts['views']
  return { ports: { client, views, signal: new AbortController().signal }, writes, created }
}

const requestOf = (
  profile: string,
  phase: string | undefined,
  { want = 'Out', kind = 'Profile' }: { readonly want?: string; readonly kind?: string } = {},
): MaintenanceRequest =>
  ({
    metadata: { name: `r-${profile}`, uid: `u-${profile}` },
    spec: { nodeName: 'n1', nodeUID: 'uid-n1', source: { kind, key: profile }, want },
    ...(phase === undefined ? {} : { status: { phase, waiting: { message: '1 of 3 nodes may be out' } } }),
  }) as unknown as MaintenanceRequest

test.for<[string, World, string | undefined, number]>([
  ['the budget is not known', {}, 'the budget is not known yet', 0],
  ['profiles need none', { profiles: 'Off' }, undefined, 0],
  ['nobody has asked', { profiles: 'Count' }, 'a slot of the queue: it is asked for', 1],
  [
    'the request is in line',
    { profiles: 'Count', requests: [requestOf('p', 'Queued')] },
    'a slot of the queue: 1 of 3 nodes may be out',
    0,
  ],
  ['it is granted', { profiles: 'Count', requests: [requestOf('p', 'Granted')] }, undefined, 0],
  [
    'the last one goes back',
    { profiles: 'Count', requests: [requestOf('p', 'Granted', { want: 'Return' })] },
    'a slot of the queue: it is asked for',
    1,
  ],
  [
    'another profile has one',
    { profiles: 'Count', requests: [requestOf('q', 'Granted')] },
    'a slot of the queue: it is asked for',
    1,
  ],
  [
    'a person of that name has one',
    { profiles: 'Count', requests: [requestOf('p', 'Granted', { kind: 'Person' })] },
    'a slot of the queue: it is asked for',
    1,
  ],
])('%s', async ([, world, why, asked]) => {
  const { ports, created } = portsOf(world)
  expect(await whyNoSlot(ports, node, 'p')).toBe(why)
  expect(created).toHaveLength(asked)
})

test('who asks again makes the same name; after one that is over, another; and the queue neither cordons nor drains', async () => {
  const ask = async (requests: readonly MaintenanceRequest[]) => {
    const { ports, created } = portsOf({ profiles: 'Count', requests })
    await whyNoSlot(ports, node, 'p')
    return created[0]
  }
  const [first, again, later] = [await ask([]), await ask([]), await ask([requestOf('p', 'Done')])]
  expect(first?.metadata.name).toMatch(/^n1-profile-/)
  expect(again?.metadata.name).toBe(first?.metadata.name)
  expect(later?.metadata.name).not.toBe(first?.metadata.name)
  expect(first?.spec).toMatchObject({ work: 'External', service: { cordon: false, drain: false } })
})

test('only what no profile needs is given back, and only once', async () => {
  const requests = [
    requestOf('needed', 'Granted'),
    requestOf('left', 'Granted'),
    requestOf('going', 'Granted', { want: 'Return' }),
    requestOf('over', 'Done'),
    requestOf('person', 'Granted', { kind: 'Person' }),
  ]
  const { ports, writes } = portsOf({ profiles: 'Count', requests })
  await giveBack(ports, node, new Set(['needed']))
  expect(writes).toEqual(['r-left {"metadata":{"uid":"u-left"},"spec":{"want":"Return"}}'])
})
