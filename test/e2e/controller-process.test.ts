import { beforeAll, expect, type TestContext, test } from 'vitest'
import { maintenanceBudgets, maintenanceRequests } from '../../src/api/index.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { isNotFound, type KubeObject, type Lease, resources } from '../../src/kube/index.ts'
import { metricDefinitions } from '../../src/server/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { type FettleProcess, type FettleResult, fettle, fromSources, startFettle } from '../support/fettle-process.ts'
import { createPdb, installCrds, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const leaseName = 'fettle-controller'
/** The program's first start reads all of its sources, which takes seconds on a busy machine. */
beforeAll(async () => {
  await fettle(['--version'], { program: fromSources })
})

interface Line {
  readonly level: number
  readonly time: number
  readonly program: string
  readonly msg: string
  readonly port?: number
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

async function startController(
  context: TestContext,
  ground: QueueGround,
  options: { readonly program?: readonly string[] } = {},
): Promise<{ readonly process: FettleProcess; readonly ask: (path: string) => Promise<Response> }> {
  const kubeconfig = adminKubeconfig(ground.record)
  const controller = startFettle(
    [
      'controller',
      '--kubeconfig',
      kubeconfig,
      '--namespace',
      ground.namespace,
      '--lease-seconds',
      '5',
      '--http-port',
      '0',
    ],
    { deadlineMs: 300_000, ...options },
  )
  context.onTestFinished(async () => {
    controller.signal('SIGKILL')
    await controller.finished
  })
  await controller.untilSaid('"msg":"leadership acquired"')
  const port = linesOf(controller.said()).find(({ msg }) => msg === 'started')?.port
  return { process: controller, ask: (path) => fetch(`http://127.0.0.1:${port}${path}`) }
}

const cli = (ground: QueueGround, ...args: string[]): Promise<FettleResult> =>
  fettle([...args, '--kubeconfig', adminKubeconfig(ground.record)])

test('bin/fettle.js controller serves, logs JSON, and ends on SIGTERM with code 0 and a free lease', async (context) => {
  const ground = await prepareQueue(context)
  const { process: controller, ask } = await startController(context, ground, { program: fromSources })
  expect(await (await ask('/healthz')).text()).toBe('ok\n')
  const ready = await ask('/readyz')
  expect({ status: ready.status, text: await ready.text() }).toEqual({ status: 200, text: 'ok\n' })
  const metrics = await (await ask('/metrics')).text()
  for (const { name } of metricDefinitions) expect(metrics).toContain(`# TYPE ${name} gauge\n`)
  expect(metrics).toContain('fettle_leader 1\n')
  expect(metrics).toMatch(/^fettle_cache_objects\{collection="v1\/nodes"\} [1-9]/m)

  const asked = performance.now()
  controller.signal('SIGTERM')
  const { code, stdout, stderr } = await controller.finished
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lease = await ground.admin.get<Lease>(resources.leases, { name: leaseName, namespace: ground.namespace })
  expect(performance.now() - asked).toBeLessThan(20_000)
  expect(lease.spec?.holderIdentity ?? '').toBe('')
  const lines = linesOf(stdout)
  expect(new Set(lines.map(({ program }) => program))).toEqual(new Set(['controller']))
  for (const { time, level } of lines) expect([typeof time, level]).toEqual(['number', 30])
  expect(lines.map(({ msg }) => msg)).toEqual(['started', 'leadership acquired', 'leadership ended', 'stopped'])
}, 180_000)

test('a maintenance by hand, told in words and as JSON', async (context) => {
  const ground = await prepareQueue(context)
  const { namespace } = ground
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(node, { app: 'web', replicas: 1 })
  await createPdb(ground, 'all', 'web', { minAvailable: 1 })
  const [pod] = await ground.podsOn(node)
  const { ask } = await startController(context, ground)

  const first = await cli(ground, 'node', 'maintain', node, '--reason', 'new fan', '--no-wait')
  const request = first.stdout.split(':')[0] ?? ''
  expect(request).toMatch(new RegExp(`^${node}-person-[0-9a-f]{5}$`))
  expect(first).toMatchObject({ code: 0, stdout: `${request}: asked for ${node}\n`, stderr: '' })
  const blockedBy = [{ pod: `${namespace}/${pod?.metadata.name}`, pdb: `${namespace}/all`, neverPasses: true }]
  await eventually(
    async () => expect((await ground.request(request)).status?.drain?.blockedBy).toEqual(blockedBy),
    patient,
  )

  const second = await cli(ground, 'node', 'maintain', other, '--reason', 'new disk', '--priority', '7', '--no-wait')
  const later = second.stdout.split(':')[0] ?? ''
  await eventually(async () => expect((await ground.request(later)).status?.waiting?.position).toBe(1), patient)
  const since = `${(await ground.budget()).status?.slots[0]?.takenAt.slice(0, 16).replace('T', ' ')} UTC`
  const nodes = (await countOf(ground)).nodes
  const obstacle = `PodDisruptionBudget ${namespace}/all allows no disruption, ever: 1 of 1 pods are healthy, 1 must be; change it, or run more replicas; until then the node is not cordoned`
  const blockedText = `${node}: draining, 1 of 1 pods left; ${namespace}/${pod?.metadata.name}: ${obstacle}`
  const waitText = `${other}: 1 of ${nodes} nodes may be out: ${node} is out since ${since}`

  const queue = await cli(ground, 'queue')
  expect(queue).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `  out  Claimed    ${blockedText} [new fan]\n    1  Queued     ${waitText} [new disk]\n`,
  })
  expect(JSON.parse((await cli(ground, 'queue', '-o', 'json')).stdout)).toEqual([
    { request, node, phase: 'Claimed', position: null, reason: 'new fan', text: blockedText },
    { request: later, node: other, phase: 'Queued', position: 1, reason: 'new disk', text: waitText },
  ])

  const status = await cli(ground, 'status')
  expect(status).toMatchObject({
    code: 1,
    stderr: '',
    stdout: [
      `nodes   ${nodes} of ${nodes} ready`,
      'budget  1 of at most 1 out of service',
      queue.stdout.trimEnd(),
      `needs a person: ${request}: ${namespace}/${pod?.metadata.name} never leaves while PodDisruptionBudget ${namespace}/all stays as it is`,
      '',
    ].join('\n'),
  })
  expect(JSON.parse((await cli(ground, 'status', '-o', 'json')).stdout)).toMatchObject({
    nodes: { total: nodes, ready: nodes },
    budget: { max: 1, out: 1, withoutSlot: [] },
    queue: [{ request }, { request: later }],
    needsPerson: [expect.stringContaining(request)],
  })

  const explained = await cli(ground, 'explain', node)
  expect(explained.code).toBe(0)
  expect(explained.stdout.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')).toBe(
    [
      `${node} is Ready and schedulable; it counts against MaintenanceBudget cluster: out since ${since}`,
      request,
      `  now   ${blockedText}`,
      `  next  0 pods are asked to leave; ${namespace}/${pod?.metadata.name} cannot leave: ${obstacle}`,
      `  <time>  Queued     asked by Person ${(await ground.request(request)).spec.source.key}: new fan`,
      '  <time>  Claimed    slot 1 is taken',
      '',
    ].join('\n'),
  )
  const waiting = await cli(ground, 'explain', later)
  expect(waiting.stdout).toContain(`  next  nothing now: ${waitText.slice(other.length + 2)}\n`)
  expect(JSON.parse((await cli(ground, 'explain', later, '-o', 'json')).stdout)).toMatchObject({
    name: later,
    node: `${other} is Ready and schedulable; it does not count as out`,
    requests: [{ request: later, history: [{ phase: 'Queued' }] }],
  })
  expect(await (await ask('/metrics')).text()).toContain('fettle_maintenance_requests{phase="Queued"} 1\n')

  await ground.admin.delete(resources.podDisruptionBudgets, { name: 'all', namespace }, { uid: 'any' })
  await ground.untilPhase(request, 'Granted')
  const back = await cli(ground, 'node', 'return', node)
  expect(back).toMatchObject({ code: 0, stdout: '' })
  expect(back.stderr).toMatch(new RegExp(`  ✓ ${node}: back in service \\(\\d+s\\)\\n$`))
  expect((await ground.node(node)).spec?.unschedulable).toBeUndefined()
  await ground.untilPhase(later, 'Granted')
  const gone = await cli(ground, 'node', 'return', other, '--no-wait')
  expect(gone).toMatchObject({ code: 0, stdout: `${later}: ${other} goes back\n`, stderr: '' })
  await ground.untilPhase(later, 'Done')
  expect((await cli(ground, 'queue')).stdout).toBe('nobody asks for a node\n')
  expect(await cli(ground, 'status')).toMatchObject({ code: 0 })

  const waited = await cli(ground, 'node', 'maintain', node, '--reason', 'once more')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(new RegExp(`^${node}-person-[0-9a-f]{5}: asked for ${node}\\n$`))
  expect(waited.stderr).toMatch(new RegExp(`  ✓ ${node}: drained; the work may begin \\(\\d+s\\)\\n$`))
}, 240_000)

test('what cannot be done is one sentence and code 1', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 1 })
  const node = await ground.addNode()
  for (const [args, sentence] of [
    [
      ['node', 'maintain', 'nowhere', '--reason', 'x'],
      'there is no node nowhere in this cluster; `kubectl get nodes` lists them',
    ],
    [
      ['node', 'return', node],
      `nobody has asked for ${node}, or it is back already; \`fettle queue\` shows who asks for what`,
    ],
    [['explain', 'nowhere'], 'nowhere is neither a node nor a request; `fettle queue` lists requests'],
    [
      ['node', 'maintain', node, '--reason', 'x', '--priority', '2000'],
      "--priority: '2000' is not a whole number from -1000 to 1000",
    ],
  ] as const)
    expect(await cli(ground, ...args)).toMatchObject({ code: 1, stdout: '', stderr: `\nfettle: ${sentence}\n` })
  const noReason = await cli(ground, 'node', 'maintain', node)
  expect(noReason.code).toBe(1)
  expect(noReason.stderr).toContain("required option '--reason <text>' not specified")
  const long = await cli(ground, 'node', 'maintain', node, '--reason', 'x'.repeat(300), '--no-wait')
  expect(long.code).toBe(1)
  expect(long.stderr).toMatch(/spec\.reason.*(256|longer)/s)
  expect(long.stderr).not.toMatch(/^\s+at /m)
}, 120_000)

test('a cluster without Fettle is told apart from one that is idle', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const missing =
    '\nfettle: Fettle is not installed in this cluster, or its controller never ran: there is no MaintenanceBudget; `fettle install` installs it\n'
  // The CRDs are there and nobody has made the ledger yet.
  expect(await cli(ground, 'status')).toMatchObject({ code: 1, stdout: '', stderr: missing })

  context.onTestFinished(() => installCrds(ground.admin))
  for (const { plural, group } of [maintenanceRequests, maintenanceBudgets]) {
    const ref = { name: `${plural}.${group}` }
    await ground.admin.delete(resources.customResourceDefinitions, ref, { uid: 'any' })
    await eventually(async () => {
      const left = await ground.admin
        .get<KubeObject>(resources.customResourceDefinitions, ref)
        .catch((error: unknown) => error)
      expect(isNotFound(left)).toBe(true)
    }, patient)
  }
  for (const args of [['status'], ['queue'], ['explain', node]])
    expect(await cli(ground, ...args)).toMatchObject({ code: 1, stdout: '', stderr: missing })
  for (const args of [
    ['node', 'maintain', node, '--reason', 'x'],
    ['node', 'return', node],
  ]) {
    const { code, stdout, stderr } = await cli(ground, ...args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^\nfettle: Fettle is not installed in this cluster.*`fettle install` installs it\n$/)
  }
}, 180_000)

async function countOf({ admin }: QueueGround): Promise<{ readonly nodes: number }> {
  let nodes = 0
  for await (const page of admin.list(resources.nodes)) nodes += page.items.length
  return { nodes }
}
