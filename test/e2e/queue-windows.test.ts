import { describe, expect, test } from 'vitest'
import {
  type MaintenanceFreeze,
  type MaintenanceWindow,
  type MaintenanceWindowStatus,
  maintenanceFreezes,
  maintenanceWindows,
} from '../../src/api/index.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type EventNote, type KubeObject, resources, SharedCaches } from '../../src/kube/index.ts'
import { openWindowViews, runWindowStatus } from '../../src/queue/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { uniqueName } from '../support/api-objects.ts'
import { eventually, type Ground, prepareGround, sharedRecord, type Test } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
import { listOf, patient, prepareQueue, slotsOf, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

describe('the status of a window', () => {
  test('is written once, and again only when it is not true any more', async (context) => {
    const ground = await prepareGround(context)
    startStatus(context, ground)
    const name = await makeWindow(context, ground, {
      schedule: { cron: '0 2 * * *' },
      duration: '4h',
      timeZone: 'Asia/Tokyo',
    })
    const { status, metadata } = await untilStatus(ground, name, ({ next }) => expect(next?.length).toBe(5))
    expect(conditionsOf(status)).toEqual({ Valid: 'True', NeverOpens: 'False', ExclusionSourceReady: 'True' })
    expect(status?.next?.[0]?.start.slice(11, 16)).toBe('17:00')
    await stays(async () => {
      const now = await ground.admin.get<MaintenanceWindow>(maintenanceWindows, { name })
      expect(now.metadata.resourceVersion).toBe(metadata.resourceVersion)
    }, 1_000)
    await edit(ground, name, { timeZone: 'Asia/Tokio' })
    await eventually(async () => {
      const { status } = await ground.admin.get<MaintenanceWindow>(maintenanceWindows, { name })
      expect(conditionsOf(status)).toMatchObject({ Valid: 'False', NeverOpens: 'Unknown' })
      expect(status?.conditions?.find(({ type }) => type === 'Valid')?.message).toContain(
        '"Asia/Tokio" is not a time zone',
      )
    }, patient)
  })

  test('follows the time: open, and closed for good', async (context) => {
    const ground = await prepareGround(context)
    startStatus(context, ground)
    const seen = followOpen(context, ground)
    // Long enough that a busy machine does not miss it.
    const name = await makeWindow(context, ground, once(3_000, 13_000))
    await untilStatus(ground, name, ({ open, currentEnd }) => {
      expect(open).toBe(true)
      expect(currentEnd).toBeDefined()
    })
    const { status } = await untilStatus(ground, name, ({ open, next }) => {
      expect(open).toBe(false)
      expect(next).toBeUndefined()
    })
    expect(conditionsOf(status)).toMatchObject({ Valid: 'True', NeverOpens: 'True' })
    // Whether it was told to be closed before it opened depends on how busy the machine is.
    expect(seen.of(name).slice(-2)).toEqual([true, false])
  })

  test('is closed while a calendar cannot be read, and follows the calendar', async (context) => {
    const ground = await prepareGround(context)
    const { admin, namespace } = ground
    startStatus(context, ground)
    const name = await makeWindow(context, ground, {
      schedule: { always: true },
      exclusions: [{ ics: { configMapRef: { namespace, name: 'holidays', key: 'cal.ics' } } }],
    })
    const untilCalendar = (open: boolean, isReady: 'True' | 'False', message: string) =>
      untilStatus(ground, name, (status) => {
        expect(status.open).toBe(open)
        expect(conditionsOf(status)).toMatchObject({ Valid: 'True', ExclusionSourceReady: isReady })
        expect(status.conditions?.find(({ type }) => type === 'ExclusionSourceReady')?.message).toContain(message)
      })
    await untilCalendar(false, 'False', `ConfigMap ${namespace}/holidays does not exist`)
    const write = (data: object) =>
      admin.apply(resources.configMaps, { metadata: { name: 'holidays', namespace }, data } as KubeObject, {
        fieldManager: 'e2e',
        force: true,
      })
    await write({ 'other.ics': 'x' })
    await untilCalendar(false, 'False', `ConfigMap ${namespace}/holidays has no key cal.ics`)
    await write({ 'cal.ics': calendar('DTSTART;VALUE=DATE:20010101') })
    await untilCalendar(true, 'True', 'every calendar can be read')
    await write({ 'cal.ics': calendar('DTSTART;VALUE=DATE:20010101', 'RRULE:FREQ=DAILY') })
    await untilCalendar(false, 'True', 'every calendar can be read')
    await write({ 'cal.ics': 'BEGIN:VCALENDAR' })
    await untilCalendar(false, 'False', 'it ends inside VCALENDAR')
    await write({ 'cal.ics': calendar('DTSTART;VALUE=DATE:20010101') })
    await untilCalendar(true, 'True', 'every calendar can be read')
    await admin.delete(resources.configMaps, { name: 'holidays', namespace }, { uid: 'any' })
    await untilCalendar(false, 'False', `ConfigMap ${namespace}/holidays does not exist`)
  })
})

test('a window that closes under work stops nothing: the node is worked on to the end, and given back', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const node = await ground.addNode()
  const name = await makeWindow(context, ground, { schedule: { always: true } })
  const { metadata } = await ground.ask(node, { windows: [name] })
  await ground.untilPhase(metadata.name, 'Granted')
  await edit(ground, name, { schedule: { once: { from: '2001-01-01T00:00', to: '2001-01-02T00:00' }, always: null } })
  const late = await ground.ask(node, { windows: [name] })
  await eventually(async () => {
    const { status } = await ground.request(late.metadata.name)
    expect(status?.waiting?.for, 'it is closed for whoever comes now, also on a node that is out').toBe('Window')
  }, patient)
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await slotsOf(ground)).toEqual([])
  expect((await ground.node(node)).spec?.unschedulable ?? false).toBe(false)
})

describe('a claim', () => {
  test('waits for the window that the request names, and for that alone', async (context) => {
    const ground = await prepareQueue(context)
    await ground.setBudget({ max: 2, countUnavailable: [] })
    await ground.startQueue()
    const [gated, free] = [await ground.addNode(), await ground.addNode()]
    const name = await makeWindow(context, ground, {
      schedule: { once: { from: '2001-01-01T00:00', to: '2001-01-02T00:00' } },
    })
    const request = await ground.ask(gated, { windows: [name] })
    const other = await ground.ask(free)
    await ground.untilPhase(other.metadata.name, 'Granted')
    await eventually(async () => {
      const { status } = await ground.request(request.metadata.name)
      expect(status?.waiting?.for, JSON.stringify(status)).toBe('Window')
    }, patient)
    expect((await slotsOf(ground)).map(({ node }) => node)).toEqual([free])
    await edit(ground, name, { schedule: { once: null, always: true } })
    await ground.untilPhase(request.metadata.name, 'Granted')
  })

  test('is made in a closed window when a person says why, and everybody can see that', async (context) => {
    const ground = await prepareQueue(context)
    const events: EventNote[] = []
    const closed = await makeWindow(context, ground, {
      schedule: { once: { from: '2001-01-01T00:00', to: '2001-01-02T00:00' } },
    })
    const open = await makeWindow(context, ground, { schedule: { always: true } })
    await ground.setBudget({ max: 2, countUnavailable: [], defaults: { windows: [closed] } })
    await ground.startQueue({ recorder: { record: (note) => events.push(note) } })
    const [urgent, lucky] = [await ground.addNode(), await ground.addNode()]
    const asked = await run('node', 'maintain', urgent, '--reason', 'fan', '--bypass-window', 'it burns', '--no-wait')
    const [name = ''] = asked.split(':')
    await ground.untilPhase(name, 'Granted')
    const { spec, status } = await ground.request(name)
    expect(spec.bypassWindow).toBe('it burns')
    expect(status?.history?.find(({ phase }) => phase === 'Claimed')).toMatchObject({
      reason: 'WindowBypassed',
      message: expect.stringMatching(/^slot \d+ is taken outside its windows: it burns$/) as string,
    })
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        reason: 'MaintenanceWindowBypassed',
        note: expect.stringContaining('it burns') as string,
      }),
    )
    // Whoever did not need it bypassed nothing.
    const other = await ground.ask(lucky, { windows: [open], bypassWindow: 'to be sure' })
    await ground.untilPhase(other.metadata.name, 'Granted')
    expect(events.filter(({ reason }) => reason === 'MaintenanceWindowBypassed')).toHaveLength(1)
    const empty = await fettle(['node', 'maintain', lucky, '--reason', 'fan', '--bypass-window', ' '])
    expect(empty).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--bypass-window: say in 1 to 256') as string,
    })
  })

  test('is made when the window opens by itself', async (context) => {
    const ground = await prepareQueue(context)
    const name = await makeWindow(context, ground, once(5_000, 600_000))
    await ground.setBudget({ max: 1, countUnavailable: [], defaults: { windows: [name] } })
    await ground.startQueue()
    const { metadata } = await ground.ask(await ground.addNode())
    const { spec } = await ground.admin.get<MaintenanceWindow>(maintenanceWindows, { name })
    await ground.untilPhase(metadata.name, 'Granted')
    const [slot] = await slotsOf(ground)
    expect(Date.parse(slot?.takenAt ?? '')).toBeGreaterThanOrEqual(Date.parse(`${spec.schedule.once?.from}Z`))
  })

  test('is not made for a window that does not exist, and the request says so', async (context) => {
    const ground = await prepareQueue(context)
    await ground.setBudget({ max: 1, countUnavailable: [] })
    await ground.startQueue()
    const { metadata } = await ground.ask(await ground.addNode(), { windows: ['nigth'] })
    await eventually(async () => {
      const { status } = await ground.request(metadata.name)
      expect(status?.waiting?.message, JSON.stringify(status)).toContain('MaintenanceWindow nigth does not exist')
    }, patient)
    expect(await slotsOf(ground)).toEqual([])
  })

  test('waits while a person freezes the cluster; work under way does not', async (context) => {
    const ground = await prepareQueue(context)
    startStatus(context, ground)
    await ground.setBudget({ max: 1, countUnavailable: [] })
    await ground.startQueue()
    const [first, second] = [await ground.addNode(), await ground.addNode()]
    const running = await ground.ask(first)
    await ground.untilPhase(running.metadata.name, 'Granted')

    context.onTestFinished(() => removeFreezes(ground))
    const frozen = await run('freeze', '--reason', 'spring sale', '--until', '2h')
    const [, name = ''] =
      /^(freeze-[0-9a-f]{5}): no node is claimed until .* UTC, or until `fettle thaw/.exec(frozen) ?? []
    expect(name, frozen).not.toBe('')
    await eventually(async () => {
      const freeze = await ground.admin.get<MaintenanceFreeze>(maintenanceFreezes, { name })
      expect(freeze).toMatchObject({ spec: { reason: 'spring sale' }, status: { active: true } })
    }, patient)
    const waiting = await ground.ask(second)
    await ground.want(running.metadata.name, 'Return')
    await ground.untilPhase(running.metadata.name, 'Done')
    await eventually(async () => {
      const { status } = await ground.request(waiting.metadata.name)
      expect(status?.waiting?.for, JSON.stringify(status)).toBe('Freeze')
      expect(status?.waiting?.message).toContain('spring sale')
    }, patient)
    await stays(async () => expect(await slotsOf(ground)).toEqual([]), 1_000)
    expect(await run('status')).toMatch(
      /^frozen {2}MaintenanceFreeze freeze-\w+ by .* stops all claims until .*: spring sale$/m,
    )
    expect(await run('windows')).toMatch(/^frozen: /m)

    expect(await run('thaw')).toBe(`${name}: ended; nodes are claimed again\n`)
    await ground.untilPhase(waiting.metadata.name, 'Granted')
    expect(await run('thaw')).toBe('nothing is frozen\n')
  })
})

test('people see the times of a window', async (context) => {
  const ground = await prepareGround(context)
  const name = await makeWindow(context, ground, {
    timeZone: 'Europe/Paris',
    schedule: { weekly: { days: ['Sat'], from: '22:00', to: '04:00' } },
  })
  expect(await run('windows')).toMatch(new RegExp(`^${name} +(closed; opens|open;) .* UTC \\(in .*\\)$`, 'm'))
  const lines = (await run('windows', name, '--next', '60')).trimEnd().split('\n')
  expect(lines[0]).toMatch(new RegExp(`^${name}: `))
  expect(lines[1]).toMatch(/^OPENS \(Europe\/Paris\) +CLOSES +OPENS \(UTC\) +CLOSES +LASTS$/)
  expect(lines.filter((line) => / 22:00 /.test(line)).length).toBeGreaterThanOrEqual(60)
  // In sixty weeks the clocks change at least twice.
  expect(lines.filter((line) => /[57]h +the clocks change: 6h on the wall$/.test(line)).length).toBeGreaterThanOrEqual(
    2,
  )
  expect(JSON.parse(await run('windows', name, '-o', 'json'))).toMatchObject({ name, timeZone: 'Europe/Paris' })
  const missing = await fettle(['windows', 'nigth', '--kubeconfig', adminKubeconfig(sharedRecord())])
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no MaintenanceWindow nigth') })
})

/** The controller's writer of statuses, in this process. */
function startStatus(context: Test, { admin, namespace, signal: testSignal }: Ground): void {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, testSignal])
  const caches = new SharedCaches({ client: admin, signal })
  const views = openWindowViews(caches, { client: admin, namespace, signal })
  const log = { info: () => undefined, warn: () => undefined }
  const running = runWindowStatus({ client: admin, views, clock: systemClock, random: Math.random, log }, signal)
  context.onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    await running
  })
}

async function makeWindow(context: Test, { admin }: Ground, spec: object): Promise<string> {
  const name = uniqueName()
  await admin.create<KubeObject>(maintenanceWindows, { metadata: { name }, spec } as KubeObject)
  context.onTestFinished(() => admin.delete(maintenanceWindows, { name }, { uid: 'any' }))
  return name
}

async function edit({ admin }: Ground, name: string, spec: object): Promise<void> {
  await admin.patch(maintenanceWindows, { name }, { type: 'merge', body: { spec } })
}

/** From so many milliseconds on, until so many. */
function once(fromMs: number, toMs: number): object {
  const time = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 19)
  return { schedule: { once: { from: time(fromMs), to: time(toMs) } } }
}

function untilStatus(
  { admin }: Ground,
  name: string,
  check: (status: MaintenanceWindowStatus, window: MaintenanceWindow) => void,
): Promise<MaintenanceWindow> {
  return eventually(async () => {
    const window = await admin.get<MaintenanceWindow>(maintenanceWindows, { name })
    if (!window.status) throw new Error(`${name} has no status`)
    check(window.status, window)
    return window
  }, patient)
}

/** What a watch tells about a window being open, each change once. */
function followOpen(context: Test, { admin }: Ground): { of(name: string): readonly boolean[] } {
  const seen = new Map<string, boolean[]>()
  const stop = new AbortController()
  const follow = async () => {
    for await (const event of admin.watch<MaintenanceWindow>(maintenanceWindows, { signal: stop.signal })) {
      if (event.type === 'BOOKMARK' || !event.object.status) continue
      const name = event.object.metadata.name ?? ''
      const before = seen.get(name) ?? []
      if (before.at(-1) !== event.object.status.open) seen.set(name, [...before, event.object.status.open])
    }
  }
  const following = follow().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  context.onTestFinished(async () => {
    stop.abort()
    await following
  })
  return { of: (name) => seen.get(name) ?? [] }
}

function conditionsOf(status: MaintenanceWindowStatus | undefined): Record<string, string> {
  return Object.fromEntries(status?.conditions?.map(({ type, status }) => [type, status]) ?? [])
}

function calendar(...lines: string[]): string {
  return ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', ...lines, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n')
}

async function removeFreezes({ admin }: Ground): Promise<void> {
  for (const { metadata } of await listOf(admin, maintenanceFreezes))
    await admin.delete(maintenanceFreezes, { name: metadata.name ?? '' }, { uid: metadata.uid ?? 'any' })
}

/** The real program; answers what it printed. */
async function run(...args: string[]): Promise<string> {
  const result = await fettle([...args, '--kubeconfig', adminKubeconfig(sharedRecord())])
  expect(result.code, result.stderr).toBe(0)
  return result.stdout
}
