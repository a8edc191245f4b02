import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, type TestContext, test } from 'vitest'
import { type KubeClient, type Lease, type NodeObject, resources } from '../../src/kube/index.ts'
import { abortAnnotation, dataAnnotation, pauseAnnotation, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { fileOf, profile, profileNodes, realRecorder } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { listOf, patient, prepareQueue, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

const op = 'operational'
const required = 'maintenance-required'
const inside = 'in-maintenance'

async function prepare(context: TestContext) {
  const ground = await prepareQueue(context)
  // Nobody goes into maintenance while nobody knows whether a slot is needed.
  await ground.setBudget({ max: 1 })
  return { ground, recorder: realRecorder(context, ground), ...profileNodes(ground) }
}

const hasLabel = (key: string, value?: string) =>
  ['hasLabel', { key, ...(value === undefined ? {} : { value }) }] as const
const alterLabel = (key: string, value: string) => ['alterLabel', { key, value }] as const
const dropLabel = (key: string) => ['alterLabel', { key, remove: true }] as const

/** A check that cannot tell: nobody listens there. */
const nobodyHome = ['prometheusInstant', { url: 'http://127.0.0.1:9', query: 'up', expr: 'value > 0' }] as const

describe('the vectors of the original', () => {
  const file = fileOf({
    check: { transition: hasLabel('transition', 'true'), dead: nobodyHome },
    trigger: { alter: alterLabel('alter', 'true') },
    profiles: [
      profile('test', [[op, 'transition', required, 'alter']]),
      profile('block', [
        [op, 'transition', required],
        [required, '!transition', inside],
      ]),
      profile('multi', [
        [op, 'transition', required],
        [required, 'transition', inside],
      ]),
      profile('to-maintenance', [[op, 'transition', inside]]),
      profile('broken', [[op, 'dead', required]]),
    ],
  })
  const detailed = { 'cloud.sap/maintenance-log-details': 'true' }

  test('each label leads where it led', async (context) => {
    const { ground, recorder, addBare, untilState, statesOf, eventsOf, change } = await prepare(context)
    const on = { transition: 'true' }
    const rows = [
      [undefined, {}, op, { default: op }],
      ['test', {}, op, { test: op }],
      ['test', on, required, { test: required }],
      ['block--multi', on, inside, { block: required, multi: inside }],
      ['block--multi', { ...on, ...detailed }, inside, { block: required, multi: inside }],
      ['does-not-exist--test', on, required, { test: required }],
      ['multi--otherprofile1--otherprofile2', on, inside, { multi: inside }],
      ['nobody--knows', on, op, {}],
    ] as const
    const nodes = await Promise.all(rows.map(([label, labels]) => addBare(label, { labels })))
    const both = await addBare('multi--to-maintenance', { labels: on })
    const switched = await addBare('to-maintenance', { labels: on })
    const broken = await addBare('broken')
    const lines: string[] = []
    const log = { info: (fields: object) => void lines.push(JSON.stringify(fields)), warn: () => undefined }
    const { counts, board } = startProfiles(context, ground, file, { recorder, log })

    for (const [index, [, , state, profiles]] of rows.entries()) {
      const name = nodes[index] ?? ''
      await untilState(name, state)
      await eventually(async () => expect(await statesOf(name)).toEqual(profiles), patient)
    }
    expect((await ground.node(nodes[2] ?? '')).metadata.labels?.['alter']).toBe('true')
    await eventually(async () => {
      expect(await eventsOf(nodes[2] ?? '')).toEqual([
        {
          type: 'Normal',
          reason: 'ChangedMaintenanceState',
          note: 'The node is now maintenance-required by profile test.',
          times: 1,
        },
      ])
      // A typing error in the label is told, and no more than once.
      expect((await eventsOf(nodes[5] ?? '')).find(({ reason }) => reason === 'UnknownProfile')).toMatchObject({
        type: 'Warning',
        note: `Label ${profileLabel} names what the file of profiles does not have: does-not-exist`,
        times: 1,
      })
    }, patient)
    expect([...board.states()]).toContainEqual({ profile: 'does-not-exist', state: 'unknown' })
    // Answer by answer in the log, of whoever asks for it and of nobody else.
    const details = lines.filter((line) => line.includes('"check":'))
    expect(new Set(details.map((line) => (JSON.parse(line) as { node: string }).node))).toEqual(new Set([nodes[4]]))
    expect(details).toContainEqual(expect.stringContaining('"check":"transition","type":"hasLabel","isPassed":true'))

    await untilState(both, inside)
    await stays(async () => {
      const found = Object.values(await statesOf(both))
      expect(found.filter((state) => state === inside)).toHaveLength(1)
    }, 1_000)

    await untilState(switched, inside)
    await change(switched, { labels: { [profileLabel]: 'block' } })
    await untilState(switched, required)
    expect(await statesOf(switched)).toEqual({ block: required })
    await eventually(
      async () =>
        expect((await eventsOf(switched)).map(({ reason }) => reason)).toContain('ProfileRemovedInMaintenance'),
      patient,
    )

    const failures = () => counts.all().failures.find(({ labels }) => labels['profile'] === 'broken')?.value ?? 0
    const before = failures()
    await expect.poll(failures, { timeout: 20_000 }).toBeGreaterThan(before + 1)
    expect(await statesOf(broken)).toEqual({ broken: op })
    // However often it fails: one event, with the cause and how often.
    await eventually(async () => {
      const told = await eventsOf(broken)
      expect(told).toHaveLength(1)
      expect(told[0]).toMatchObject({ type: 'Warning', reason: 'ChangeMaintenanceStateFailed' })
      expect(told[0]?.note).toMatch(/^Profile broken stays operational: a check failed: dead: .*127\.0\.0\.1:9/)
      expect(told[0]?.times).toBeGreaterThan(1)
    }, patient)
  })
})

test('a cycle is three events and as many states; after it nothing is written', async (context) => {
  const { ground, recorder, addBare, untilState, eventsOf, change, dataOf } = await prepare(context)
  const file = fileOf({
    check: { needed: hasLabel('needed'), approved: hasLabel('approved'), done: hasLabel('done') },
    trigger: { take: dropLabel('approved'), finish: dropLabel('needed'), reset: dropLabel('done') },
    profiles: [
      profile('cycle', [
        [op, 'needed', required],
        [required, 'approved', inside, 'take'],
        [inside, 'done', op, 'finish && reset'],
      ]),
    ],
  })
  const names = await Promise.all(Array.from({ length: 5 }, () => addBare('cycle')))
  const writes: string[] = []
  const client = interceptWrites(ground.admin, (write, send) => {
    writes.push(write)
    return send()
  })
  startProfiles(context, ground, file, { client, recorder })
  for (const name of names) await change(name, { labels: { needed: 'yes' } })
  for (const name of names) await untilState(name, required)
  for (const name of names) await change(name, { labels: { approved: 'yes' } })
  for (const name of names) await untilState(name, inside)
  for (const name of names) await change(name, { labels: { done: 'yes' } })
  for (const name of names) await untilState(name, op)
  await eventually(async () => {
    for (const name of names) {
      const { Profiles } = await dataOf(name)
      expect(Profiles?.['cycle']).toMatchObject({ Current: op, Previous: op })
    }
  }, patient)
  await sleep(1_000)

  const [written, stored] = [writes.length, await nodeWrites(ground.admin)]
  await sleep(5_000)
  expect(writes.slice(written)).toEqual([])
  expect((await nodeWrites(ground.admin)) - stored).toBe(0)
  for (const name of names) {
    const told = (await eventsOf(name)).map(({ reason, note, times }) => `${reason} ${times} ${note}`)
    expect(told.sort()).toEqual([
      'ChangedMaintenanceState 1 The node is now in-maintenance by profile cycle.',
      'ChangedMaintenanceState 1 The node is now maintenance-required by profile cycle.',
      'ChangedMaintenanceState 1 The node is now operational by profile cycle.',
    ])
  }
})

/** What the API server itself has counted, whoever it was. */
async function nodeWrites(admin: KubeClient): Promise<number> {
  const text = await admin.request<string>({ method: 'GET', path: '/metrics' })
  return text
    .split('\n')
    .filter((line) => /^apiserver_request_total\{.*resource="nodes",.*subresource="",.*verb="(PATCH|PUT)"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

describe('where the original breaks', () => {
  test('two profiles that pass in the same pass: one goes in, the other says who is first', async (context) => {
    const { ground, recorder, addBare, untilState, statesOf, eventsOf } = await prepare(context)
    const go = [[op, 'go', inside]] as const
    const file = fileOf({ check: { go: hasLabel('go') }, profiles: [profile('a', go), profile('b', go)] })
    const name = await addBare('a--b', { labels: { go: 'yes' } })
    const { board } = startProfiles(context, ground, file, { recorder })
    await untilState(name, inside)
    await stays(async () => expect(await statesOf(name)).toEqual({ a: inside, b: op }), 1_500)
    const shown = board.all().find(({ node }) => node === name)?.profiles[1]
    expect(shown).toMatchObject({
      name: 'b',
      applied: { next: op, transitions: [{ passed: false, chain: { passed: true } }] },
      waitsFor: 'profile a has the node in maintenance',
    })
    await eventually(async () => expect(await eventsOf(name)).toMatchObject([{ times: 1 }]), patient)
  })

  test('one profile that fails takes nothing from the other, and repeats nothing', async (context) => {
    const { ground, recorder, addBare, untilState, statesOf, eventsOf } = await prepare(context)
    const file = fileOf({
      check: { go: hasLabel('go'), dead: nobodyHome },
      trigger: { mark: alterLabel('marked', 'yes') },
      profiles: [profile('a', [[op, 'go', inside, 'mark']]), profile('b', [[op, 'dead', required]])],
    })
    const name = await addBare('a--b', { labels: { go: 'yes' } })
    const { board } = startProfiles(context, ground, file, { recorder })
    const { metadata } = await untilState(name, inside)
    expect(metadata.labels?.['marked']).toBe('yes')
    await sleep(1_500)
    expect(await statesOf(name)).toEqual({ a: inside, b: op })
    const changes = (await eventsOf(name)).filter(({ reason }) => reason === 'ChangedMaintenanceState')
    expect(changes).toMatchObject([{ times: 1 }])
    expect(board.all().find(({ node }) => node === name)?.profiles[1]?.applied.error).toMatch(/^dead: /)
  })

  test('the triggers of the transition that passed run, and one may send the node to another profile', async (context) => {
    const { ground, addBare, untilState, statesOf } = await prepare(context)
    const file = fileOf({
      check: { never: hasLabel('never'), 're-go': hasLabel('go') },
      trigger: { t1: alterLabel('t1', 'ran'), t2: alterLabel('t2', 'ran'), rename: alterLabel(profileLabel, 'other') },
      profiles: [
        profile('two', [
          [op, 'never', inside, 't1'],
          [op, 're-go', inside, 't2'],
        ]),
        profile('renames', [[op, 're-go', required, 'rename']]),
        profile('other', [[op, 'never', required]]),
      ],
    })
    const [two, renames] = [
      await addBare('two', { labels: { go: '' } }),
      await addBare('renames', { labels: { go: '' } }),
    ]
    startProfiles(context, ground, file)
    const { metadata } = await untilState(two, inside)
    expect([metadata.labels?.['t1'], metadata.labels?.['t2']]).toEqual([undefined, 'ran'])
    await eventually(async () => expect(await statesOf(renames)).toEqual({ other: op }), patient)
    await untilState(renames, op)
  })

  test('a write of somebody else in between is not lost, and neither is ours', async (context) => {
    const { ground, addBare, untilState, change } = await prepare(context)
    const file = fileOf({
      check: { go: hasLabel('go') },
      trigger: { hold: ['alterFinalizer', { key: 'e2e.fettle.dev/ours' }] },
      profiles: [profile('p', [[op, 'go', required, 'hold']])],
    })
    const name = await addBare('p', { labels: { go: '' } })
    let raced = 0
    const client = interceptWrites(ground.admin, async (write, send) => {
      if (write === `patch nodes/${name}` && raced++ < 3) {
        const finalizers = [
          'e2e.fettle.dev/theirs',
          ...Array.from({ length: raced }, (_, index) => `e2e.fettle.dev/${index}`),
        ]
        await ground.admin.patch(resources.nodes, { name }, { type: 'merge', body: { metadata: { finalizers } } })
      }
      return send()
    })
    context.onTestFinished(() => change(name, { finalizers: [] } as object).then(() => undefined))
    startProfiles(context, ground, file, { client })
    const { metadata } = await untilState(name, required)
    expect(raced).toBeGreaterThan(3)
    expect(metadata.finalizers).toEqual(
      expect.arrayContaining(['e2e.fettle.dev/theirs', 'e2e.fettle.dev/2', 'e2e.fettle.dev/ours']),
    )
  })

  test('data that the original falls over, and data of long ago, are read', async (context) => {
    const { ground, addBare, untilState, statesOf, dataOf, change, eventsOf, recorder } = await prepare(context)
    const at = '2023-05-01T10:00:00.123456789+02:00'
    const legacy = {
      LastTransition: at,
      LastNotificationTimes: { old: '0001-01-01T00:00:00Z' },
      ProfileStates: { p: required },
      PreviousStates: {},
    }
    const file = fileOf({
      check: {
        go: hasLabel('go'),
        room: ['maxMaintenance', { max: 1000, profile: 'p', skipAfter: '1h' }],
      },
      trigger: { note: ['alterAnnotation', { key: 'noted', value: 'yes' }] },
      profiles: [
        profile('p', [
          [op, 'go && room', required, 'note'],
          [required, 'go', inside],
        ]),
      ],
    })
    const data = (value: unknown) => ({ annotations: { [dataAnnotation]: JSON.stringify(value) } })
    const old = await addBare('p', data(legacy))
    const nothing = await addBare('p', data({ Profiles: { p: null } }))
    const torn = await addBare('p', { annotations: { [dataAnnotation]: '{{}' }, labels: { go: '' } })
    const none = await addBare('p', { labels: { go: '' } })
    // In maintenance by its label alone: what it carries no data for does not stop the others.
    await addBare(undefined, { labels: { [stateLabel]: inside, [profileLabel]: 'p' }, annotations: {} })
    startProfiles(context, ground, file, { recorder })
    await untilState(old, required)
    expect(await dataOf(old)).toEqual({
      Profiles: { p: { Transition: at, Current: required, Previous: required } },
      Notifications: { old: '0001-01-01T00:00:00Z' },
    })
    await untilState(nothing, op)
    const noted = await untilState(none, inside)
    expect(noted.metadata.annotations?.['noted']).toBe('yes')
    // Nothing is done to what nobody can read; a person is told, and repairs it.
    await eventually(async () => {
      expect(await eventsOf(torn)).toMatchObject([{ type: 'Warning', reason: 'MaintenanceDataUnreadable', times: 1 }])
    }, patient)
    const { metadata } = await ground.node(torn)
    expect([metadata.annotations?.[dataAnnotation], metadata.labels?.[stateLabel]]).toEqual(['{{}', undefined])
    await change(torn, { annotations: { [dataAnnotation]: '{}' } })
    await untilState(torn, inside)
    expect(await statesOf(torn)).toEqual({ p: inside })
  })

  test('what the API server refuses is told, counted and shown, and goes on when it is mended', async (context) => {
    const { ground, recorder, addBare, untilState, statesOf, eventsOf } = await prepare(context)
    const fileWith = (value: string) =>
      fileOf({
        check: { go: hasLabel('go') },
        trigger: { mark: alterLabel('mark', value) },
        profiles: [profile('p', [[op, 'go', required, 'mark']])],
      })
    const name = await addBare('p', { labels: { go: '' } })
    const running = startProfiles(context, ground, fileWith('no value of a label!'), { recorder })
    const { board, counts } = running
    const shown = () => board.all().find(({ node }) => node === name)?.profiles[0]?.applied
    await expect.poll(() => shown()?.error, { timeout: 20_000 }).toContain('Invalid (422)')
    expect(shown()?.next).toBe(op)
    expect(counts.all().failures.find(({ labels }) => labels['profile'] === 'p')?.value).toBeGreaterThan(0)
    await eventually(async () => {
      const [told, ...others] = await eventsOf(name)
      expect(others).toEqual([])
      expect(told).toMatchObject({ type: 'Warning', reason: 'ChangeMaintenanceStateFailed' })
      expect(told?.note).toMatch(/^Profile p stays operational: the node could not be written: .*Invalid \(422\)/)
    }, patient)
    expect(await statesOf(name)).toEqual({})
    running.setFile(fileWith('yes'))
    await untilState(name, required)
    await expect.poll(() => shown()?.error, { timeout: 20_000 }).toBe('')
  })

  test('a node that is deleted goes its way on, and loses the finalizer that a profile gave it', async (context) => {
    const { ground, addBare, untilState, change } = await prepare(context)
    const key = 'e2e.fettle.dev/hold'
    const file = fileOf({
      check: { go: hasLabel('go'), done: hasLabel('done') },
      trigger: { hold: ['alterFinalizer', { key }], free: ['alterFinalizer', { key, remove: true }] },
      profiles: [
        profile('p', [
          [op, 'go', inside, 'hold'],
          [inside, 'done', op, 'free'],
        ]),
      ],
    })
    const name = await addBare('p', { labels: { go: '' } })
    const { board } = startProfiles(context, ground, file)
    expect((await untilState(name, inside)).metadata.finalizers).toEqual([key])
    await ground.admin.delete(resources.nodes, { name }, { uid: 'any' })
    expect((await ground.node(name)).metadata.deletionTimestamp).toBeDefined()
    await change(name, { labels: { go: null, done: '' } })
    await eventually(() => expect(ground.node(name)).rejects.toThrow('NotFound'), patient)
    await expect.poll(() => board.all().map(({ node }) => node), { timeout: 20_000 }).not.toContain(name)
  })

  test('the state label is repaired, and what stands in it by hand lets nobody in', async (context) => {
    const { ground, addBare, untilState, change } = await prepare(context)
    const file = fileOf({
      check: { go: hasLabel('go'), room: ['maxMaintenance', { max: 1 }] },
      profiles: [profile('p', [[op, 'go && room', inside]])],
    })
    await ground.startQueue()
    const first = await addBare('p', { labels: { go: '' } })
    startProfiles(context, ground, file)
    await untilState(first, inside)
    const second = await addBare('p', { labels: { go: '' } })
    await untilState(second, op)
    for (let round = 0; round < 5; round++) {
      await change(first, { labels: { [stateLabel]: op } })
      await change(second, { labels: { nudge: String(round) } })
      await untilState(first, inside)
    }
    expect((await ground.node(second)).metadata.labels?.[stateLabel]).toBe(op)
    // Once it is really out, the next one has its turn.
    await change(first, { labels: { [profileLabel]: null } })
    await untilState(second, inside)
  })
})

describe('messages', () => {
  const everyChange = { type: 'periodic', config: { interval: '1h' } }
  const slackTo = (origin: string) =>
    [
      'slack',
      { hook: `${origin}/hook`, channel: 'nodes', message: '{{ .Profile }} {{ .Node.Name }} {{ .State }}' },
      everyChange,
    ] as const

  test('that cannot be sent hold up nobody, are tried again, and are sent once', async (context) => {
    const { ground, recorder, addBare, untilState, dataOf, eventsOf } = await prepare(context)
    const slack = await startSlack(context)
    const out = { status: 503, body: 'out of order' }
    slack.faults.push(out, out)
    const file = fileOf({
      check: { go: hasLabel('go') },
      notify: { chat: slackTo(slack.origin) },
      profiles: [
        profile(
          'p',
          [
            [op, 'go', required],
            [required, 'go', inside],
          ],
          { [required]: { notify: 'chat' } },
        ),
      ],
    })
    const name = await addBare('p', { labels: { go: '' } })
    const { counts } = startProfiles(context, ground, file, { recorder })
    await untilState(name, inside)
    expect((await dataOf(name)).Notifications).toEqual({ chat: '0001-01-01T00:00:00Z' })
    await eventually(async () => {
      expect((await dataOf(name)).Notifications?.['chat']).toMatch(/^20/)
    }, patient)
    await sleep(1_000)
    expect(slack.heard.map(({ body }) => body.text)).toEqual(Array(3).fill(`p ${name} ${required}`))
    expect(counts.all().notSent).toEqual([{ labels: { profile: 'p', instance: 'chat' }, value: 2 }])
    const failed = (await eventsOf(name)).filter(({ reason }) => reason === 'NotificationFailed')
    expect(failed).toMatchObject([{ type: 'Warning', times: 1 }])
    expect(JSON.stringify(failed)).not.toContain('out of order')
  })

  test('a message whose address is mended in the file goes to the new one', async (context) => {
    const { ground, addBare, untilState, dataOf } = await prepare(context)
    const slack = await startSlack(context)
    const fileFor = (origin: string) =>
      fileOf({
        check: { go: hasLabel('go') },
        notify: { chat: slackTo(origin) },
        profiles: [profile('p', [[op, 'go', required]], { [required]: { notify: 'chat' } })],
      })
    const name = await addBare('p', { labels: { go: '' } })
    const running = startProfiles(context, ground, fileFor('http://127.0.0.1:9'))
    await untilState(name, required)
    await expect.poll(() => running.counts.all().notSent[0]?.value, { timeout: 20_000 }).toBeGreaterThan(0)
    running.setFile(fileFor(slack.origin))
    await eventually(async () => expect((await dataOf(name)).Notifications?.['chat']).toMatch(/^20/), patient)
    expect(slack.heard).toHaveLength(1)
  })

  test('wait while a node is paused: nobody could note there that they were sent', async (context) => {
    const { ground, addBare, untilState, change, dataOf } = await prepare(context)
    const slack = await startSlack(context)
    const file = fileOf({
      check: { go: hasLabel('go') },
      notify: { chat: slackTo(slack.origin) },
      profiles: [profile('p', [[op, 'go', required]], { [required]: { notify: 'chat' } })],
    })
    slack.faults.push({ status: 503, body: 'out of order' })
    const name = await addBare('p', { labels: { go: '' } })
    const first = startProfiles(context, ground, file)
    await untilState(name, required)
    await expect.poll(() => slack.heard.length, { timeout: 20_000 }).toBe(1)
    await change(name, { annotations: { [pauseAnnotation]: 'audit' } })
    await sleep(4_000)
    expect(slack.heard).toHaveLength(1)
    await first.stop()
    startProfiles(context, ground, file)
    await sleep(2_000)
    expect(slack.heard, 'not after a restart either').toHaveLength(1)
    await change(name, { annotations: { [pauseAnnotation]: null } })
    await eventually(async () => expect((await dataOf(name)).Notifications?.['chat']).toMatch(/^20/), patient)
    expect(slack.heard).toHaveLength(2)
  })

  test('two profiles that share an instance do not silence each other', async (context) => {
    const { ground, addBare } = await prepare(context)
    const slack = await startSlack(context)
    const tells = (name: string) => profile(name, [[op, 'go', required]], { [required]: { notify: 'chat' } })
    const file = fileOf({
      check: { go: hasLabel('go') },
      notify: { chat: slackTo(slack.origin) },
      profiles: [tells('a'), tells('b')],
    })
    const name = await addBare('a--b', { labels: { go: '' } })
    startProfiles(context, ground, file)
    const texts = () => slack.heard.map(({ body }) => body.text ?? '').sort()
    await expect.poll(texts, { timeout: 20_000 }).toEqual([`a ${name} ${required}`, `b ${name} ${required}`])
    await sleep(1_500)
    expect(texts()).toHaveLength(2)
  })
})

describe('people', () => {
  test('pause a node, and abort what is under way', async (context) => {
    const { ground, recorder, addBare, untilState, change, statesOf, eventsOf } = await prepare(context)
    const file = fileOf({
      check: { go: hasLabel('go') },
      trigger: { cordon: ['eviction', { action: 'cordon' }], uncordon: ['eviction', { action: 'uncordon' }] },
      profiles: [
        profile(
          'p',
          [
            [op, 'go', required],
            [required, 'go', inside, 'cordon'],
          ],
          { abort: 'uncordon' },
        ),
      ],
    })
    const name = await addBare('p')
    const writes: string[] = []
    const client = interceptWrites(ground.admin, (write, send) => {
      writes.push(write)
      return send()
    })
    const { board } = startProfiles(context, ground, file, { client, recorder })
    await untilState(name, op)
    await change(name, { annotations: { [pauseAnnotation]: 'a disk is replaced' }, labels: { go: '' } })
    writes.length = 0
    const paused = await ground.node(name)
    await sleep(1_500)
    // Others write to the node as well: taints come and go without us.
    expect(writes.filter((write) => write.includes(`nodes/${name}`))).toEqual([])
    const oursOf = ({ metadata: { annotations, labels }, spec }: NodeObject) => [
      annotations,
      labels,
      spec?.unschedulable,
    ]
    expect(oursOf(await ground.node(name))).toEqual(oursOf(paused))
    expect(board.all().find(({ node }) => node === name)?.problem).toBe('paused: a disk is replaced')
    await change(name, { annotations: { [pauseAnnotation]: null } })
    expect((await untilState(name, inside)).spec?.unschedulable).toBe(true)

    await change(name, { annotations: { [abortAnnotation]: 'p' }, labels: { go: null } })
    const back = await untilState(name, op)
    expect([back.spec?.unschedulable, back.metadata.annotations?.[abortAnnotation]]).toEqual([undefined, undefined])
    await stays(async () => expect(await statesOf(name)).toEqual({ p: op }), 1_000)
    await eventually(
      async () => expect((await eventsOf(name)).map(({ reason }) => reason)).toContain('AbortedMaintenance'),
      patient,
    )
  })

  test('hear once of a node that stays too long in a state', async (context) => {
    const { ground, recorder, addBare, untilState, eventsOf } = await prepare(context)
    const slack = await startSlack(context)
    const message = 'overdue: {{ .Node.Name }}'
    const file = fileOf({
      check: { go: hasLabel('go') },
      notify: {
        loud: ['slack', { hook: `${slack.origin}/hook`, channel: 'c', message }, { type: 'oneshot', config: {} }],
      },
      profiles: [profile('p', [[op, 'go', required]], { [required]: { deadline: '1s', overdue: 'loud' } })],
    })
    const name = await addBare('p', { labels: { go: '' } })
    const { counts } = startProfiles(context, ground, file, { recorder })
    await untilState(name, required)
    await expect.poll(() => slack.heard.map(({ body }) => body.text), { timeout: 20_000 }).toEqual([`overdue: ${name}`])
    await sleep(2_000)
    expect(slack.heard).toHaveLength(1)
    expect(counts.all().overdue).toEqual(['p'])
    const told = (await eventsOf(name)).filter(({ reason }) => reason === 'MaintenanceOverdue')
    expect(told).toMatchObject([{ type: 'Warning', times: 1 }])
  })
})

describe('triggers that need time', () => {
  const move = {
    trigger: {
      drain: ['eviction', { action: 'drain' }],
      uncordon: ['eviction', { action: 'uncordon' }],
      unapprove: dropLabel('approved'),
    },
  } as const

  async function leases(admin: KubeClient, namespace: string): Promise<readonly string[]> {
    const found = await listOf<Lease>(admin, resources.leases, { namespace })
    return found.map(({ metadata, spec }) => `${metadata.name} ${spec?.holderIdentity} ${spec?.leaseTransitions}`)
  }

  test('a transition with stagger and drain is resumed until it is done, and holds its Lease', async (context) => {
    const { ground, recorder, change, untilState, eventsOf } = await prepare(context)
    const { admin, namespace } = ground
    const node = await ground.addNode({ labels: { [profileLabel]: 'turns', go: '' } })
    const other = await ground.addNode({ labels: { [profileLabel]: 'turns' } })
    await ground.addWorkload(node, { app: 'web', replicas: 2 })
    const file = fileOf({
      ...move,
      check: {
        go: hasLabel('go'),
        turn: ['stagger', { duration: '1h', leaseName: 'turn', leaseNamespace: namespace }],
      },
      profiles: [profile('turns', [[op, 'go && turn', inside, 'drain']])],
    })
    startProfiles(context, ground, file, { recorder })
    const seen = await untilState(node, inside)
    expect(seen.spec?.unschedulable).toBe(true)
    expect(await ground.podsOn(node)).toEqual([])
    expect(await leases(admin, namespace)).toEqual([`turn-0 ${node} 0`])
    await change(other, { labels: { go: '' } })
    await stays(async () => expect((await ground.node(other)).spec?.unschedulable).toBeUndefined(), 1_500)
    // Waiting is no failure.
    await eventually(async () => expect(await eventsOf(node)).toMatchObject([{ type: 'Normal', times: 1 }]), patient)
  })

  test('a chain that takes away its own permission goes on; one that is entered lets nobody out before it is done', async (context) => {
    const { ground, untilState, change } = await prepare(context)
    const file = fileOf({
      ...move,
      check: { approved: hasLabel('approved'), go: hasLabel('go'), back: hasLabel('back') },
      profiles: [
        profile('asked', [
          [op, 'approved', inside, 'unapprove && drain'],
          [inside, 'back', op, 'uncordon'],
        ]),
        profile(
          'entered',
          [
            [op, 'go', inside],
            [inside, 'back', op, 'uncordon'],
          ],
          { [inside]: { enter: 'drain' } },
        ),
      ],
    })
    const asked = await ground.addNode({ labels: { [profileLabel]: 'asked', approved: '' } })
    const entered = await ground.addNode({ labels: { [profileLabel]: 'entered', go: '', back: '' } })
    for (const node of [asked, entered]) await ground.addWorkload(node, { app: `web-${node}`, replicas: 2 })
    const seen: NodeObject[] = []
    const follow = follower(context, ground.admin, entered, (node) => seen.push(node))
    startProfiles(context, ground, file)
    const { metadata } = await untilState(asked, inside)
    expect(metadata.labels).not.toHaveProperty('approved')
    expect(await ground.podsOn(asked)).toEqual([])
    await change(asked, { labels: { back: '' } })
    expect((await untilState(asked, op)).spec?.unschedulable).toBeUndefined()

    await eventually(() => expect(statesIn(seen)).toContain(`${op} free`), patient)
    await change(entered, { labels: { go: null } })
    await eventually(async () => expect((await ground.node(entered)).spec?.unschedulable).toBeUndefined(), patient)
    await ground.untilRunning(entered, `web-${entered}`, 2)
    expect(statesIn(seen).slice(0, 3)).toEqual([`${inside} free`, `${inside} cordoned`, `${op} free`])
    await follow.stop()
  })

  test('a transition to the same state takes no Lease', async (context) => {
    const { ground, addBare, untilState } = await prepare(context)
    const { admin, namespace } = ground
    const file = fileOf({
      check: { turn: ['stagger', { duration: '1h', leaseName: 'turn', leaseNamespace: namespace }] },
      profiles: [profile('p', [[op, 'turn', op]])],
    })
    const name = await addBare('p')
    startProfiles(context, ground, file)
    await untilState(name, op)
    await sleep(1_000)
    expect(await leases(admin, namespace)).toEqual([])
  })
})

function statesIn(seen: readonly NodeObject[]): readonly string[] {
  const all = seen.flatMap(({ metadata, spec }) => {
    const state = metadata.labels?.[stateLabel]
    return state === undefined ? [] : [`${state} ${spec?.unschedulable ? 'cordoned' : 'free'}`]
  })
  return all.filter((text, index) => text !== all[index - 1])
}

function follower(test: Test, admin: KubeClient, name: string, onVersion: (node: NodeObject) => void) {
  const end = new AbortController()
  const follow = async () => {
    try {
      const options = { fieldSelector: `metadata.name=${name}`, signal: end.signal }
      for await (const event of admin.watch<NodeObject>(resources.nodes, options))
        if (event.type !== 'BOOKMARK') onVersion(event.object)
    } catch (error) {
      if (!end.signal.aborted) throw error
    }
  }
  const following = follow()
  const stop = async () => {
    end.abort()
    await following
  }
  test.onTestFinished(stop)
  return { stop }
}
