import { expect, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { dryRunPods } from '../../src/drain/index.ts'
import { type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, connectThroughProxy, eventually } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
import { createPdb, patient, pinnedTo, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

interface Preview {
  readonly pods: readonly {
    readonly pod: string
    readonly leaves: string
    readonly why: string
    readonly dryRun?: string
  }[]
  readonly budgets: readonly object[]
  readonly canFinish: boolean
}

test('a preview names each pod, its fate, the budget that refuses and whether it can ever pass; nothing changes', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace, record } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'free', replicas: 1 })
  await ground.addWorkload(node, { app: 'tight', replicas: 3 })
  await ground.addWorkload(node, { app: 'never', replicas: 1 })
  await createPdb(ground, 'one-at-a-time', 'tight', { maxUnavailable: 1 })
  await createPdb(ground, 'all-of-them', 'never', { minAvailable: 1 })
  await admin.create<PodObject>(resources.pods, boundPod(namespace, 'alone', node))
  const labels = { app: 'daemon' }
  await admin.create(resources.daemonSets, {
    metadata: { name: 'daemon', namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pinnedTo(node) } },
  } as KubeObject)
  await ground.untilRunning(node, 'daemon', 1)
  const pdbs = () =>
    Promise.all(
      ['one-at-a-time', 'all-of-them'].map((name) => admin.get(resources.podDisruptionBudgets, { name, namespace })),
    )
  // Until the budgets count all pods, and the last pod runs.
  await eventually(async () => {
    expect((await ground.podsOn(node)).every(({ status }) => status?.phase === 'Running')).toBe(true)
    expect(await pdbs()).toMatchObject([
      { status: { disruptionsAllowed: 1, expectedPods: 3 } },
      { status: { disruptionsAllowed: 0, expectedPods: 1 } },
    ])
  }, patient)
  const versions = async () => [
    (await ground.node(node)).spec,
    ...(await ground.podsOn(node)).map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted(),
    ...(await pdbs()).map(({ metadata }) => metadata.resourceVersion),
  ]
  const before = await versions()

  const args = ['node', 'drain', node, '--preview', '--kubeconfig', adminKubeconfig(record)]
  const { code, stdout, stderr } = await fettle([...args, '-o', 'json'])
  expect(code, stderr).toBe(1)
  const preview = JSON.parse(stdout) as Preview
  const of = (app: string) => preview.pods.filter(({ pod }) => pod.startsWith(`${namespace}/${app}`))
  expect(of('free')).toMatchObject([
    { leaves: 'now', why: 'ReplicaSet free starts it again elsewhere', dryRun: 'accepted' },
  ])
  expect(of('tight').map(({ leaves, dryRun }) => [leaves, dryRun])).toEqual([
    ['now', 'accepted'],
    ['later', 'accepted'],
    ['later', 'accepted'],
  ])
  expect(of('never')).toMatchObject([
    {
      leaves: 'never',
      pdb: `${namespace}/all-of-them`,
      why: `PodDisruptionBudget ${namespace}/all-of-them allows no disruption, ever: 1 of 1 pods are healthy, 1 must be; change it, or run more replicas`,
      dryRun: expect.stringMatching(/^refused: .*all-of-them needs 1 healthy pods and has 1/) as string,
    },
  ])
  expect(of('alone')).toMatchObject([{ leaves: 'never', fate: 'refuse' }])
  expect(of('daemon')).toMatchObject([{ leaves: 'stays' }])
  expect(preview.budgets).toEqual(
    expect.arrayContaining([
      { pdb: `${namespace}/one-at-a-time`, pods: 3, mayLeaveNow: 1, neverPasses: false },
      { pdb: `${namespace}/all-of-them`, pods: 1, mayLeaveNow: 0, neverPasses: true },
    ]),
  )
  expect(preview.canFinish).toBe(false)
  expect(await versions()).toEqual(before)

  const text = await fettle(args)
  expect(text.code).toBe(1)
  expect(text.stdout).toContain('The drain cannot finish: 2 of its pods need a person, see the last lines of the list')
})

test('a preview asks the server once for each pod, and waits for no answer to change', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'guarded', replicas: 3 })
  await createPdb(ground, 'never', 'guarded', { maxUnavailable: 0 })
  const { client, proxy } = await connectThroughProxy(context, ground)
  const pods = await ground.podsOn(node)
  const answers = await dryRunPods(client, pods, ground.signal)
  expect([...answers.values()].map(({ result }) => result)).toEqual(['refused', 'refused', 'refused'])
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'POST 429': 3 })
})

test('draining is asked for by another command', async () => {
  const { code, stderr } = await fettle(['node', 'drain', 'node-1'])
  expect(code).toBe(1)
  expect(stderr).toContain('`fettle node maintain node-1 --reason …` asks for it')
})
