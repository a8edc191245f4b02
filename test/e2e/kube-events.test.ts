import { expect, test } from 'vitest'
import {
  connect,
  type EventNote,
  EventRecorder,
  fixedCredential,
  type KubeClient,
  type KubeObject,
  resources,
  Secret,
} from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import {
  connectThroughProxy,
  createAccount,
  eventually,
  type Ground,
  prepareGround,
  requestToken,
} from '../support/e2e-cluster.ts'
import { createConfigMaps } from '../support/e2e-config-maps.ts'

interface StoredEvent extends KubeObject {
  readonly note: string
  readonly reason: string
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
  readonly regarding: { readonly uid?: string }
}

function recorderFor(client: KubeClient): EventRecorder {
  return new EventRecorder({
    client,
    clock: systemClock,
    random: Math.random,
    reportingController: 'fettle.dev/e2e',
    reportingInstance: 'e2e-0',
  })
}

async function subject(ground: Ground, name = 'subject') {
  const [object] = await createConfigMaps(ground, [name])
  const { uid = '' } = object?.metadata ?? {}
  return { apiVersion: 'v1', kind: 'ConfigMap', name, namespace: ground.namespace, uid }
}

async function eventsOf({ admin, namespace }: Ground): Promise<StoredEvent[]> {
  const found: StoredEvent[] = []
  for await (const page of admin.list<StoredEvent>(resources.events, { namespace })) found.push(...page.items)
  return found
}

test('an event appears as events.k8s.io with all that was said, and repetitions become one series with a count', async (context) => {
  const ground = await prepareGround(context)
  const recorder = recorderFor(ground.admin)
  const regarding = await subject(ground)
  const note: EventNote = {
    regarding,
    type: 'Warning',
    reason: 'BudgetExhausted',
    action: 'Evict',
    note: 'No budget left.',
  }
  recorder.record(note)
  await eventually(async () => expect(await eventsOf(ground)).toHaveLength(1), { withinMs: 5_000 })
  const [first] = await eventsOf(ground)
  expect(first).toMatchObject({
    ...note,
    regarding,
    reportingController: 'fettle.dev/e2e',
    reportingInstance: 'e2e-0',
    eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
  })
  expect(first?.series).toBeUndefined()

  for (let repetition = 0; repetition < 4; repetition++) recorder.record(note)
  await eventually(async () => expect(await eventsOf(ground)).toMatchObject([{ series: { count: 5 } }]), {
    withinMs: 5_000,
  })
  recorder.record({ ...note, note: 'Another sentence.' })
  const stats = await recorder.stop(AbortSignal.timeout(5_000))
  expect(stats).toMatchObject({ recorded: 6, created: 2, failed: 0, dropped: 0, waiting: 0 })
  const all = await eventsOf(ground)
  expect(all.map((event) => `${event.note} ${event.series?.count ?? 1}`).sort()).toEqual([
    'Another sentence. 1',
    'No budget left. 5',
  ])
})

test('a note that is too long is cut where the server allows it, and not inside a character', async (context) => {
  const ground = await prepareGround(context)
  const recorder = recorderFor(ground.admin)
  const regarding = await subject(ground)
  recorder.record({
    regarding,
    type: 'Normal',
    reason: 'R'.repeat(300),
    action: 'A'.repeat(300),
    note: '🧭é'.repeat(700),
  })
  const stats = await recorder.stop(AbortSignal.timeout(5_000))
  expect(stats).toMatchObject({ created: 1, failed: 0 })
  const [event] = await eventsOf(ground)
  expect(Buffer.byteLength(event?.note ?? '')).toBeLessThanOrEqual(1024)
  expect(Buffer.byteLength(event?.note ?? '')).toBeGreaterThan(1010)
  expect(event?.note).toMatch(/^(🧭é)+🧭?…$/u)
  expect(event?.reason.length).toBeLessThanOrEqual(128)
})

test('an event about a node is kept in the default namespace, and one about an odd name is accepted', async (context) => {
  const ground = await prepareGround(context)
  const { admin } = ground
  const recorder = recorderFor(admin)
  const { metadata } = await admin.get(resources.nodes, { name: 'node-1' })
  const { uid = '' } = metadata
  const reason = `Seen${ground.namespace.replace('e2e-', '')}`
  const note = { type: 'Normal', reason, action: 'Look', note: 'Looked at it.' } as const
  recorder.record({ ...note, regarding: { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid } })
  recorder.record({
    ...note,
    regarding: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'system:Odd.-Name' },
  })
  expect(await recorder.stop(AbortSignal.timeout(5_000))).toMatchObject({ created: 2, failed: 0 })
  const found: KubeObject[] = []
  const selection = { namespace: 'default', fieldSelector: `reason=${reason}` }
  for await (const page of admin.list(resources.events, selection)) found.push(...page.items)
  for (const { metadata } of found)
    await admin.delete(resources.events, { name: metadata.name ?? '', namespace: 'default' }, { uid: 'any' })
  expect(found).toHaveLength(2)
})

test('an event recorded while the server is away is delivered once when it is back', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const recorder = recorderFor(client)
  const regarding = await subject(ground)
  const note = { regarding, type: 'Normal', reason: 'Later', action: 'Wait', note: 'Came late.' } as const
  proxy.blackout(300)
  recorder.record(note)
  recorder.record(note)
  await eventually(
    async () => expect(await eventsOf(ground)).toMatchObject([{ note: 'Came late.', series: { count: 2 } }]),
    { withinMs: 8_000 },
  )
  expect(await recorder.stop(AbortSignal.timeout(5_000))).toMatchObject({ created: 1, failed: 0, dropped: 0 })
})

test('an account that may write events to the API of old only is heard all the same, with its counts', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, config } = ground
  const account = await createAccount(ground, 'old')
  const metadata = { name: 'old-events', namespace }
  const rules = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]
  await admin.create(resources.roles, { metadata, rules } as KubeObject)
  await admin.create(resources.roleBindings, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: account.name, namespace }],
  } as KubeObject)
  const token = new Secret(await requestToken(admin, account))
  const client = connect({ ...config, credentials: fixedCredential({ token }) }, { component: 'e2e' })
  context.onTestFinished(() => client.close())
  const regarding = await subject(ground)
  const note = { regarding, type: 'Warning', reason: 'Old', action: 'Try', note: 'Heard.' } as const
  // The API server's own view of roles follows a moment later.
  await eventually(
    async () => {
      const probe = recorderFor(client)
      probe.record({ ...note, note: 'Probe.' })
      expect(await probe.stop(AbortSignal.timeout(5_000))).toMatchObject({ created: 1 })
    },
    { withinMs: 10_000 },
  )
  const recorder = recorderFor(client)
  for (const count of [1, 2]) {
    recorder.record(note)
    await eventually(
      async () =>
        expect((await eventsOf(ground)).filter((event) => event.note === 'Heard.')).toMatchObject([
          { ...note, deprecatedCount: count, deprecatedSource: { component: 'fettle.dev/e2e' } },
        ]),
      { withinMs: 5_000 },
    )
  }
  expect(await recorder.stop(AbortSignal.timeout(5_000))).toMatchObject({ created: 1, patched: 1, failed: 0 })
})
