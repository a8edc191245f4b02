import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, type TestContext, test } from 'vitest'
import { budgetName } from '../../src/api/index.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type Lease, type NodeObject, resources } from '../../src/kube/index.ts'
import { dataAnnotation, originalLease, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { eventually, temporaryFolder } from '../support/e2e-cluster.ts'
import { startFettle } from '../support/fettle-process.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { fileOf, profile, profileNodes, realRecorder } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { createPdb, patient, prepareQueue, type QueueGround, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const
const progress = 'fettle.dev/profile-progress'
const hasLabel = (key: string) => ['hasLabel', { key }] as const
const minutes = 60_000

/** As Go writes a moment: to the nanosecond, in the zone of the process. */
const goTime = (ms: number) => new Date(ms + 2 * 60 * minutes).toISOString().replace(/Z$/, '456789+02:00')
const never = '0001-01-01T00:00:00Z'

/** Letter for letter what the original stores, which is all that it leaves behind. */
function original(
  profiles: Readonly<Record<string, readonly [at: string, current: string, previous: string]>>,
  notifications: Readonly<Record<string, string>> = {},
): string {
  const entries = Object.entries(profiles).map(
    ([name, [at, current, previous]]) =>
      `"${name}":{"Transition":"${at}","Current":"${current}","Previous":"${previous}"}`,
  )
  const times = Object.entries(notifications).map(([name, at]) => `"${name}":"${at}"`)
  return `{"Profiles":{${entries.join(',')}},"Notifications":{${times.join(',')}}}`
}

/** The original refuses anything but this, and then touches the node no more. */
const itsShape =
  /^\{"Profiles":\{("[^"]+":\{"Transition":"[^"]+","Current":"(operational|maintenance-required|in-maintenance)","Previous":"(operational|maintenance-required|in-maintenance)"\},?)*\},"Notifications":\{("[^"]+":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",?)*\}\}$/

async function prepare(context: TestContext) {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 1 })
  const nodes = profileNodes(ground)
  const textOf = async (name: string) => (await ground.node(name)).metadata.annotations?.[dataAnnotation] ?? ''
  const store = (name: string, state: string, data: string) =>
    nodes.change(name, { labels: { [stateLabel]: state }, annotations: { [dataAnnotation]: data } })
  return { ground, recorder: realRecorder(context, ground), textOf, store, ...nodes }
}

describe('in the middle of a maintenance', () => {
  test('from the original to ours and back nothing is lost and nothing is repeated', async (context) => {
    const { ground, recorder, addBare, textOf, store, untilState, change, eventsOf } = await prepare(context)
    const slack = await startSlack(context)
    const message = '{{ .Node.Name }} {{ .State }}'
    const file = fileOf({
      check: { needed: hasLabel('needed'), approved: hasLabel('approved'), done: hasLabel('done') },
      trigger: {
        take: ['alterLabel', { key: 'approved', remove: true }],
        enter: ['alterLabel', { key: 'entered', value: 'ours' }],
      },
      notify: {
        chat: [
          'slack',
          { hook: `${slack.origin}/hook`, channel: 'c', message },
          { type: 'periodic', config: { interval: '1h' } },
        ],
      },
      profiles: [
        profile(
          'flatcar',
          [
            [op, 'needed', required],
            [required, 'approved', inside, 'take'],
            [inside, 'done', op],
          ],
          { [required]: { notify: 'chat', enter: 'enter' }, [inside]: { notify: 'chat' } },
        ),
      ],
    })
    const [atA, atB] = [goTime(Date.now() - 30 * minutes), goTime(Date.now() - 10 * minutes)]
    // One that was told of already, and one that has just come into its state and was not entered yet.
    const told = original({ flatcar: [atA, required, required] }, { chat: atB })
    const fresh = original({ flatcar: [atB, required, op] }, { chat: goTime(Date.now() - 20 * minutes) })
    const [first, second] = [
      await addBare('flatcar', { labels: { needed: '' } }),
      await addBare('flatcar', { labels: { needed: '' } }),
    ]
    await store(first, required, told)
    await store(second, required, fresh)

    const ours = startProfiles(context, ground, file, { recorder })
    await eventually(
      async () =>
        expect(await textOf(second)).toContain(
          `"Transition":"${atB}","Current":"${required}","Previous":"${required}"`,
        ),
      patient,
    )
    await stays(async () => expect(await textOf(first)).toBe(told), 1_500)
    expect((await ground.node(first)).metadata.labels?.['entered']).toBeUndefined()
    expect((await ground.node(second)).metadata.labels?.['entered']).toBe('ours')
    expect(slack.heard.map(({ body }) => body.text)).toEqual([`${second} ${required}`])

    await change(first, { labels: { approved: '' } })
    await untilState(first, inside)
    await eventually(() => expect(slack.heard).toHaveLength(2), patient)
    await eventually(async () => expect(await textOf(first)).not.toContain(atB), patient)
    await ours.stop()
    for (const name of [first, second]) expect(await textOf(name)).toMatch(itsShape)
    const sentByOurs = JSON.parse(await textOf(first)) as { Notifications: Record<string, string> }
    expect(Date.now() - Date.parse(sentByOurs.Notifications['chat'] ?? '')).toBeLessThan(minutes)

    // The original goes on: it ends the first, and tells of the second anew.
    const [atC, atD] = [goTime(Date.now()), goTime(Date.now() + 1)]
    const ended = original({ flatcar: [atC, op, op] }, { chat: sentByOurs.Notifications['chat'] ?? '' })
    const again = original({ flatcar: [atB, required, required] }, { chat: atD })
    await change(first, { labels: { needed: null } })
    await store(first, op, ended)
    await store(second, required, again)

    startProfiles(context, ground, file, { recorder })
    await stays(async () => expect([await textOf(first), await textOf(second)]).toEqual([ended, again]), 2_000)
    expect(slack.heard).toHaveLength(2)
    const changes = [...(await eventsOf(first)), ...(await eventsOf(second))].map(
      ({ reason, times }) => `${reason} ${times}`,
    )
    expect(changes).toEqual(['ChangedMaintenanceState 1'])
  })

  test('what was under way when the original took over is given up, and decided anew', async (context) => {
    const { ground, recorder, store, untilState, change, eventsOf } = await prepare(context)
    const file = fileOf({
      check: { go: hasLabel('go') },
      trigger: { drain: ['eviction', { action: 'drain', evictionTimeout: '1s', deletionTimeout: '1s' }] },
      profiles: [profile('p', [[op, 'go', inside, 'drain']])],
    })
    const node = await ground.addNode({ labels: { [profileLabel]: 'p', go: '' } })
    await ground.addWorkload(node, { app: 'web', replicas: 1 })
    await createPdb(ground, 'stay', 'web', { minAvailable: 1 })
    const ours = startProfiles(context, ground, file, { recorder })
    await eventually(async () => {
      const { metadata, spec } = await ground.node(node)
      expect([metadata.annotations?.[progress], spec?.unschedulable]).toEqual([
        expect.stringContaining('inFlight'),
        true,
      ])
    }, patient)
    await expect.poll(() => [...ours.board.overdueDrains()], { timeout: 20_000 }).toEqual(['p'])
    await ours.stop()
    // A week of the original: it took the node through all of it, and does not know our notes.
    await change(node, { labels: { go: null } })
    const data = original({ p: [goTime(Date.now()), op, op] })
    await store(node, op, data)
    const { board } = startProfiles(context, ground, file, { recorder })
    await eventually(async () => {
      const { annotations } = (await ground.node(node)).metadata
      expect([annotations?.[progress], annotations?.[dataAnnotation]]).toEqual([undefined, data])
    }, patient)
    await stays(async () => expect((await untilState(node, op)).metadata.labels?.[stateLabel]).toBe(op), 1_500)
    expect(await ground.podsOn(node)).toHaveLength(1)
    expect([...board.overdueDrains()]).toEqual([])
    await eventually(
      async () => expect((await eventsOf(node)).map(({ reason }) => reason)).toContain('TransitionGivenUp'),
      patient,
    )
  })

  test('a message that the original has sent meanwhile is not sent again', async (context) => {
    const { ground, addBare, store, textOf, untilState } = await prepare(context)
    const slack = await startSlack(context)
    const file = fileOf({
      notify: {
        chat: [
          'slack',
          { hook: `${slack.origin}/hook`, channel: 'c', message: '{{ .Node.Name }}' },
          { type: 'oneshot', config: { delay: '1h' } },
        ],
      },
      profiles: [profile('p', [], { [required]: { notify: 'chat' } })],
    })
    const pendingSince = (ms: number) => ({
      [progress]: JSON.stringify({
        pending: [{ profile: 'p', instance: 'chat', state: required, previous: op, at: new Date(ms).toISOString() }],
      }),
    })
    const at = goTime(Date.now() - 20 * minutes)
    const [sent, unsent] = [
      await addBare('p', { annotations: pendingSince(Date.now() - 10 * minutes) }),
      await addBare('p', { annotations: pendingSince(Date.now() - 10 * minutes) }),
    ]
    await store(sent, required, original({ p: [at, required, required] }, { chat: goTime(Date.now() - 5 * minutes) }))
    await store(unsent, required, original({ p: [at, required, required] }, { chat: never }))
    startProfiles(context, ground, file)
    await eventually(async () => expect(await textOf(unsent)).not.toContain(never), patient)
    await untilState(sent, required)
    await sleep(1_000)
    expect(slack.heard.map(({ body }) => body.text)).toEqual([unsent])
  })
})

test('a dry run says what would happen, and neither writes nor tells anything', async (context) => {
  const { ground, recorder, addBare } = await prepare(context)
  const slack = await startSlack(context)
  const said: string[] = []
  const writes: string[] = []
  const client = interceptWrites(ground.admin, (write, send) => {
    writes.push(write)
    return send()
  })
  const told: unknown[] = []
  const file = fileOf({
    check: {
      go: hasLabel('go'),
      room: ['maxMaintenance', { max: 1 }],
      turn: ['stagger', { duration: '1h', leaseName: 'turn', leaseNamespace: ground.namespace }],
      dead: ['prometheusInstant', { url: 'http://127.0.0.1:9', query: 'up', expr: 'value > 0' }],
    },
    trigger: { drain: ['eviction', { action: 'drain' }] },
    notify: {
      chat: [
        'slack',
        { hook: `${slack.origin}/hook`, channel: 'c', message: 'x' },
        { type: 'periodic', config: { interval: '1s' } },
      ],
    },
    profiles: [
      profile('moves', [[op, 'go && room && turn', inside, 'drain']]),
      profile('fails', [[op, 'dead', required]]),
      profile('tells', [], { [required]: { notify: 'chat' } }),
    ],
  })
  const at = goTime(Date.now() - minutes)
  const pending = [{ profile: 'tells', instance: 'chat', state: required, previous: op, at: new Date().toISOString() }]
  const names = [
    await addBare('moves', { labels: { go: '' } }),
    await addBare('fails', { annotations: { [dataAnnotation]: original({ fails: [at, op, op] }) } }),
    await addBare('tells', {
      labels: { [stateLabel]: required },
      annotations: {
        [dataAnnotation]: original({ tells: [at, required, required] }, { chat: never }),
        [progress]: JSON.stringify({ pending }),
      },
    }),
    await addBare('nobody'),
  ]
  const before = await Promise.all(names.map(async (name) => marksOf(await ground.node(name))))
  const { board } = startProfiles(context, ground, file, {
    client,
    isDryRun: true,
    recorder: {
      record: (note) => {
        told.push(note)
        recorder.record(note)
      },
    },
    log: { info: (fields, text) => said.push(`${text} ${JSON.stringify(fields)}`), warn: () => undefined },
  })
  await expect
    .poll(() => said.filter((line) => line.includes(`"node":"${names[0]}"`)), { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^dry run: this would be written .*inFlight/))
  await sleep(1_500)
  expect(board.all().filter(({ node }) => names.includes(node))).toHaveLength(4)
  expect([writes, told, slack.heard]).toEqual([[], [], []])
  expect(await Promise.all(names.map(async (name) => marksOf(await ground.node(name))))).toEqual(before)
})

/** Kubernetes itself writes to new nodes as well. */
function marksOf({ metadata: { labels, annotations }, spec }: NodeObject) {
  return [labels, annotations?.[dataAnnotation], annotations?.[progress], spec?.unschedulable]
}

describe('the real program', () => {
  const file = fileOf({
    requeue: '500ms',
    labelFilter: ['zone'],
    check: { go: hasLabel('go') },
    profiles: [profile('flatcar', [[op, 'go', required]])],
  })

  function folderWith(context: TestContext): string {
    const folder = temporaryFolder(context)
    mkdirSync(join(folder, 'config'))
    writeFileSync(join(folder, 'config/maintenance.yaml'), file)
    return folder
  }

  /** Somebody holds the lease of the original, and renews it until it is told to stop. */
  async function holdLease(context: TestContext, { admin, namespace }: QueueGround) {
    const ref = { name: originalLease, namespace }
    const now = () => new Date().toISOString().replace('Z', '000Z')
    const holderIdentity = 'maintenance-controller-7d9f_1234'
    const spec = { holderIdentity, leaseDurationSeconds: 4, acquireTime: now(), renewTime: now(), leaseTransitions: 3 }
    await admin.create<Lease>(resources.leases, { metadata: ref, spec })
    const renewing = setInterval(() => {
      const body = { spec: { renewTime: now() } }
      void admin.patch(resources.leases, ref, { type: 'merge', body }).catch(() => undefined)
    }, 1_000)
    const stop = () => clearInterval(renewing)
    context.onTestFinished(stop)
    const holder = async () => (await admin.get<Lease>(resources.leases, ref)).spec?.holderIdentity ?? ''
    return { stop, holder, holderIdentity }
  }

  async function dataOf(ground: QueueGround, node: string): Promise<string | undefined> {
    return (await ground.node(node)).metadata.annotations?.[dataAnnotation]
  }

  const healthElsewhere = ['-health-addr=:0'] as const

  async function startController(
    context: TestContext,
    ground: QueueGround,
    folder: string,
    more: readonly string[] = healthElsewhere,
  ) {
    const controller = startFettle(
      [
        ...['controller', '-kubeconfig', adminKubeconfig(ground.record), '--namespace', ground.namespace],
        ...['--http-port', '0', '--lease-seconds', '5'],
        // What the deployments of the original say.
        ...['-metrics-addr', ':0', '-enable-leader-election=true', '-metrics-timeout', '1s'],
        ...['-zap-devel=false', '-zap-log-level', 'info', '--enable-kubernikus-maintenance=false'],
        ...more,
      ],
      { cwd: folder, env: { POD_NAME: 'pod-1' }, deadlineMs: 200_000 },
    )
    context.onTestFinished(async () => {
      controller.signal('SIGKILL')
      await controller.finished
      // Those of other tests would wait until it is over.
      await ground.admin.delete(resources.leases, { name: originalLease, namespace: ground.namespace }, { uid: 'any' })
    })
    await controller.untilSaid('"msg":"leadership acquired"')
    const port = /"port":(\d+),"msg":"started"/.exec(controller.said())?.[1]
    return { controller, ask: (path: string) => fetch(`http://127.0.0.1:${port}${path}`) }
  }

  test('waits while the original holds its lease, begins when it stops, and gives the lease back', async (context) => {
    const { ground, addBare, untilState, change, statesOf, eventsOf } = await prepare(context)
    const folder = folderWith(context)
    const path = join(folder, 'config/maintenance.yaml')
    const lease = await holdLease(context, ground)
    const name = await addBare('flatcar', { labels: { go: '', zone: 'z1', secret: 'hidden' } })
    // Ours was on its way when it was replaced. The original had nothing to write, so the node does not tell of it.
    const way = { from: op, next: required, check: 'go', triggers: [], trigger: 0, since: new Date().toISOString() }
    const data = original({ flatcar: [goTime(Date.now() - minutes), op, op] })
    const left = await addBare('flatcar', {
      annotations: { [dataAnnotation]: data, [progress]: JSON.stringify({ inFlight: { flatcar: way } }) },
    })
    const { controller, ask } = await startController(context, ground, folder)
    await stays(async () => expect(await dataOf(ground, name)).toBeUndefined(), 6_000)
    expect(await (await ask('/api/v1/info')).json()).toEqual([])
    const waits = `profiles wait: lease ${ground.namespace}/${originalLease} is held by ${lease.holderIdentity}`
    expect(controller.said().split(waits)).toHaveLength(2)
    const waiting = await ask('/readyz')
    expect([waiting.status, await waiting.text()]).toEqual([200, `ok\n${waits}\n`])
    expect(await (await ask('/metrics')).text()).toContain('fettle_profiles_active 0\n')
    lease.stop()
    await untilState(name, required)
    expect(await (await ask('/readyz')).text()).toBe('ok\n')
    await eventually(async () => {
      const { annotations } = (await ground.node(left)).metadata
      expect([annotations?.[progress], annotations?.[dataAnnotation]]).toEqual([undefined, data])
      expect((await eventsOf(left)).map(({ reason, note }) => [reason, note])).toEqual([
        ['TransitionGivenUp', expect.stringContaining('maintenance-controller has led meanwhile')],
      ])
    }, patient)
    // The original finds the leader's pod by what stands before the first _.
    expect(await lease.holder()).toMatch(/^pod-1_/)

    const info = async () =>
      ((await (await ask('/api/v1/info')).json()) as readonly { readonly node: string }[]).find(
        ({ node }) => node === name,
      )
    await eventually(
      async () =>
        expect(await info()).toEqual({
          node: name,
          profiles: [{ name: 'flatcar', state: required, applied: { next: required, error: '', transitions: [] } }],
          labels: { zone: 'z1' },
          updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
          unknown: [],
          history: [{ at: expect.any(String) as string, profile: 'flatcar', from: op, to: required, why: 'go' }],
        }),
      patient,
    )
    const metrics = await (await ask('/metrics')).text()
    for (const metric of ['pod_shuffle_count', 'pod_shuffles_per_replica', 'transition_failure_count'])
      expect(metrics).toContain(`# TYPE maintenance_controller_${metric} counter\n`)
    expect(metrics).toContain('fettle_profiles_file_current 1\n')
    expect(metrics).toContain('fettle_profiles_active 1\n')
    expect(metrics).toMatch(/^fettle_api_requests_total\{method="PATCH",code="200"\} [1-9]/m)

    // A broken file is told with its place, and the last good one stays in force.
    writeFileSync(path, `intervals:\n  requeue: soon\n`)
    await eventually(async () => {
      const ready = await ask('/readyz')
      expect([ready.status, await ready.text()]).toEqual([
        200,
        expect.stringMatching(/^ok\nconfig\/maintenance\.yaml:2:12: error: intervals\.requeue: /),
      ])
    }, patient)
    expect(await (await ask('/metrics')).text()).toContain('fettle_profiles_file_current 0\n')
    await eventually(async () => {
      const told = (await eventsOf(budgetName)).filter(({ reason }) => reason === 'ProfilesFileRefused')
      expect(told).toMatchObject([{ type: 'Warning', note: expect.stringContaining('intervals.requeue: ') as string }])
    }, patient)
    const late = await addBare('flatcar', { labels: { go: '' } })
    await untilState(late, required)
    writeFileSync(path, file.replaceAll('flatcar', 'renamed'))
    await eventually(async () => expect(await (await ask('/readyz')).text()).toBe('ok\n'), patient)
    await change(late, { labels: { [profileLabel]: 'renamed' } })
    await eventually(async () => expect(await statesOf(late)).toEqual({ renamed: required }), patient)

    controller.signal('SIGTERM')
    expect((await controller.finished).code).toBe(0)
    expect(await lease.holder()).toBe('')
  })

  test('a dry run works beside the original, and leaves its lease alone', async (context) => {
    const { ground, addBare } = await prepare(context)
    const lease = await holdLease(context, ground)
    const name = await addBare('flatcar', { labels: { go: '' } })
    const before = marksOf(await ground.node(name))
    const { controller } = await startController(context, ground, folderWith(context), [
      '--profiles-dry-run',
      ...healthElsewhere,
    ])
    await controller.untilSaid(`"node":"${name}","patch":`)
    expect(marksOf(await ground.node(name))).toEqual(before)
    controller.signal('SIGTERM')
    expect((await controller.finished).code).toBe(0)
    expect(await lease.holder()).toBe(lease.holderIdentity)
  })

  test('waits for a lease in another namespace, and does without the port of the original if that is taken', async (context) => {
    const { ground } = await prepare(context)
    const lease = await holdLease(context, ground)
    const own = await ownNamespace(context, ground)
    await takePort(context, 8081)
    const { controller, ask } = await startController(context, ground, folderWith(context), [
      ...['--namespace', own, '--original-lease-namespace', ground.namespace],
    ])
    expect(controller.said()).toMatch(/"port":8081,"why":"[^"]*EADDRINUSE/)
    const waits = `profiles wait: lease ${ground.namespace}/${originalLease} is held by ${lease.holderIdentity}`
    await controller.untilSaid(waits)
    expect(await (await ask('/readyz')).text()).toBe(`ok\n${waits}\n`)
    controller.signal('SIGTERM')
    expect((await controller.finished).code).toBe(0)
    expect(await lease.holder()).toBe(lease.holderIdentity)
  })

  test('stops while the original leads in a namespace that nobody told it of, and says what to do', async (context) => {
    const { ground, addBare, untilState } = await prepare(context)
    const own = await ownNamespace(context, ground)
    const name = await addBare('flatcar', { labels: { go: '' } })
    const { controller, ask } = await startController(context, ground, folderWith(context), [
      ...['--namespace', own, ...healthElsewhere],
    ])
    await untilState(name, required)
    const lease = await holdLease(context, ground)
    const waits =
      `profiles wait: maintenance-controller ${lease.holderIdentity} leads in namespace ${ground.namespace}: ` +
      `scale it to zero, or start the controller with --original-lease-namespace=${ground.namespace}`
    await controller.untilSaid(waits)
    expect(await (await ask('/readyz')).text()).toBe(`ok\n${waits}\n`)
    expect(await (await ask('/metrics')).text()).toContain('fettle_profiles_active 0\n')
    const late = await addBare('flatcar', { labels: { go: '' } })
    await stays(async () => expect(await dataOf(ground, late)).toBeUndefined(), 5_000)
    lease.stop()
    await untilState(late, required)
    expect(await (await ask('/readyz')).text()).toBe('ok\n')
    controller.signal('SIGTERM')
    expect((await controller.finished).code).toBe(0)
    expect(await lease.holder()).toBe(lease.holderIdentity)
  })

  async function ownNamespace(context: TestContext, { admin, namespace }: QueueGround): Promise<string> {
    const name = `${namespace}-own`
    await admin.create(resources.namespaces, { metadata: { name } })
    context.onTestFinished(() => admin.delete(resources.namespaces, { name }, { uid: 'any' }))
    return name
  }

  /** If somebody else has it already, that will do. */
  async function takePort(context: TestContext, port: number): Promise<void> {
    const server = createServer()
    context.onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => {
      server.once('error', () => resolve()).listen(port, '0.0.0.0', resolve)
    })
  }
})
