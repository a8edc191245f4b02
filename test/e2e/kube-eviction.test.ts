import { expect, test } from 'vitest'
import { freezeComponent } from '../../src/dev/index.ts'
import {
  isEvictionBlocked,
  isNotFound,
  type PodDisruptionBudget,
  type PodObject,
  resources,
} from '../../src/kube/index.ts'
import {
  boundPod,
  connectThroughProxy,
  ensureDefaultAccount,
  eventually,
  type Ground,
  prepareGround,
  timed,
} from '../support/e2e-cluster.ts'

async function createRunningPod({ admin, namespace }: Ground, name: string, app = 'guarded'): Promise<PodObject> {
  await admin.create(resources.pods, boundPod(namespace, name, 'node-1', { metadata: { labels: { app } } }))
  return eventually(
    async () => {
      const pod = await admin.get<PodObject>(resources.pods, { name, namespace })
      expect(pod.status?.phase).toBe('Running')
      return pod
    },
    { withinMs: 15_000 },
  )
}

test('an eviction that a budget forbids is told in the words of the budget, once, and succeeds when there is room', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const pod = await createRunningPod(ground, 'one')
  await createBudget(ground, 'at-least-one', 1)
  const budget = () =>
    admin.get<PodDisruptionBudget>(resources.podDisruptionBudgets, { name: 'at-least-one', namespace })
  const expectBudget = (healthy: number) =>
    eventually(async () => expect((await budget()).status).toMatchObject({ currentHealthy: healthy }), {
      withinMs: 20_000,
    })
  await expectBudget(1)

  const ref = { name: 'one', namespace }
  const uid = pod.metadata.uid ?? ''
  const { error, ms } = await timed(() => client.evict(ref, { uid }))
  expect(isEvictionBlocked(error)).toBe(true)
  expect(error).toMatchObject({
    status: 429,
    kind: 'retryable',
    attempts: 1,
    details: { causes: [{ reason: 'DisruptionBudget' }] },
  })
  expect(String(error)).toMatch(/violate the pod's disruption budget.*at-least-one needs 1 healthy pods and has 1/)
  expect(ms).toBeLessThan(10_000)
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'POST 429': 1 })
  expect((await admin.get(resources.pods, ref)).metadata).not.toHaveProperty('deletionTimestamp')

  await createRunningPod(ground, 'two')
  await expectBudget(2)
  await client.evict(ref, { uid, dryRun: true })
  expect((await admin.get(resources.pods, ref)).metadata).not.toHaveProperty('deletionTimestamp')
  await client.evict(ref, { uid })
  await eventually(
    async () => expect(isNotFound(await admin.get(resources.pods, ref).catch((error: unknown) => error))).toBe(true),
    { withinMs: 10_000 },
  )
  await expect(client.evict(ref, { uid })).rejects.toMatchObject({ code: 'NotFound' })
  expect(proxy.counts.get('POST 429')).toBe(1)
})

test('a budget that the server has not looked at yet refuses in the same way', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, record } = ground
  await ensureDefaultAccount(ground)
  const { metadata } = await createRunningPod(ground, 'early')
  // Nobody counts for it meanwhile.
  const thaw = await freezeComponent(record, 'kube-controller-manager')
  try {
    await createBudget(ground, 'unseen', 0)
    const { error } = await timed(() => admin.evict({ name: 'early', namespace }, { uid: metadata.uid ?? '' }))
    expect(isEvictionBlocked(error), String(error)).toBe(true)
    expect(error).toMatchObject({ status: 429, attempts: 1, details: { causes: [{ reason: 'DisruptionBudget' }] } })
    expect(String(error)).toContain('unseen is still being processed by the server')
  } finally {
    thaw()
  }
})

test('two budgets for one pod are a fault of the server, not a refusal that passes', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const { metadata } = await createRunningPod(ground, 'torn')
  for (const name of ['first', 'second']) await createBudget(ground, name, 0)
  const { error } = await timed(() => admin.evict({ name: 'torn', namespace }, { uid: metadata.uid ?? '' }))
  expect(isEvictionBlocked(error), String(error)).toBe(false)
  expect(error).toMatchObject({ status: 500, attempts: 1 })
  expect(String(error)).toContain('more than one PodDisruptionBudget')
})

test('a 429 that names no budget is load, and the eviction is repeated', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const { metadata } = await createRunningPod(ground, 'patient')
  proxy.inject({ status: 429, count: 2, retryAfterSeconds: 1 })
  await client.evict({ name: 'patient', namespace }, { uid: metadata.uid ?? '' })
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'POST 429': 2, 'POST 201': 1 })
  await eventually(
    async () => {
      const left = await admin.get(resources.pods, { name: 'patient', namespace }).catch((error: unknown) => error)
      expect(isNotFound(left)).toBe(true)
    },
    { withinMs: 10_000 },
  )
})

async function createBudget({ admin, namespace }: Ground, name: string, minAvailable: number): Promise<void> {
  await admin.create<PodDisruptionBudget>(resources.podDisruptionBudgets, {
    metadata: { name, namespace },
    spec: { minAvailable, selector: { matchLabels: { app: 'guarded' } } },
  })
}

test('an eviction with the UID of another pod is a Conflict, and the pod stays', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const ref = { name: 'free', namespace }
  const { metadata } = await createRunningPod(ground, 'free', 'unguarded')
  const wrong = admin.evict(ref, { uid: '00000000-0000-0000-0000-000000000000' })
  await expect(wrong).rejects.toMatchObject({ code: 'Conflict', status: 409, attempts: 1 })
  expect((await admin.get(resources.pods, ref)).metadata).toMatchObject({ uid: metadata.uid })
  expect((await admin.get(resources.pods, ref)).metadata).not.toHaveProperty('deletionTimestamp')
})
