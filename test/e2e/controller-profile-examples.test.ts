import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { type NodeObject, resources } from '../../src/kube/index.ts'
import { profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { fettle, repository } from '../support/fettle-process.ts'
import { type RunningProfiles, startProfiles } from '../support/profiles-run.ts'
import { patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const folder = join(repository, 'examples/profiles')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

interface Stage {
  readonly ground: QueueGround
  readonly slack: Awaited<ReturnType<typeof startSlack>>
  /** Simulated nodes with the labels, and the profile's label. */
  addNodes(profile: string, labels: readonly Readonly<Record<string, string>>[]): Promise<string[]>
  run(file: string, clock?: Clock): RunningProfiles
  /** Null removes it. */
  label(node: string, labels: Readonly<Record<string, string | null>>): Promise<void>
  annotate(node: string, annotations: Readonly<Record<string, string | null>>): Promise<void>
  /** Until the state labels of the nodes are these, in this order. */
  until(nodes: readonly string[], states: readonly string[]): Promise<NodeObject[]>
}

async function prepare(context: TestContext): Promise<Stage> {
  const ground = await prepareQueue(context)
  // Profiles are admitted through the ledger, which the controller's queue makes.
  await ground.startQueue()
  const slack = await startSlack(context)
  const env = {
    SLACK_HOOK: `${slack.origin}/hook`,
    SLACK_API: `${slack.origin}/api`,
    SLACK_TOKEN: 'x',
    LEASE_NAMESPACE: ground.namespace,
  }
  const patch = async (name: string, metadata: object) => {
    await ground.admin.patch(resources.nodes, { name }, { type: 'merge', body: { metadata } })
  }
  return {
    ground,
    slack,
    addNodes: (profile, labels) =>
      Promise.all(labels.map((more) => ground.addNode({ labels: { ...more, [profileLabel]: profile } }))),
    run: (file, clock) => startProfiles(context, ground, read(file), { env, ...(clock ? { clock } : {}) }),
    label: (node, labels) => patch(node, { labels }),
    annotate: (node, annotations) => patch(node, { annotations }),
    until: (nodes, states) =>
      eventually(async () => {
        const seen = await Promise.all(nodes.map((name) => ground.node(name)))
        expect(seen.map(({ metadata }) => metadata.labels?.[stateLabel])).toEqual(states)
        return seen
      }, patient),
  }
}

const [service, required, inside] = ['operational', 'maintenance-required', 'in-maintenance']

test('flatcar: an approved node is allowed to reboot, the next one when it is back', async (context) => {
  const stage = await prepare(context)
  const nodes = await stage.addNodes('flatcar', [{}, {}])
  const [one = '', other = ''] = nodes
  const needed = 'flatcar-linux-update.v1.flatcar-linux.net/reboot-needed'
  const allowed = 'flatcar-linux-update.v1.flatcar-linux.net/reboot-ok'
  stage.run('flatcar.yaml')
  await stage.until(nodes, [service, service])
  for (const node of nodes) await stage.annotate(node, { [needed]: 'true' })
  await stage.until(nodes, [required, required])
  await eventually(
    () => expect(new Set(stage.slack.heard.map(({ body }) => body.text?.split(' ')[0]))).toEqual(new Set(nodes)),
    patient,
  )
  await stage.annotate(one, { 'cloud.sap/maintenance-approved': 'true' })
  const [first] = await stage.until(nodes, [inside, required])
  expect(first?.metadata.annotations).toMatchObject({ [allowed]: 'true' })
  expect(first?.metadata.annotations).not.toHaveProperty(['cloud.sap/maintenance-approved'])
  await stage.annotate(other, { 'cloud.sap/maintenance-approved': 'true' })
  await stage.annotate(one, { [needed]: 'false' })
  // Nothing wakes the second one when the first is back, but its next look.
  const [back] = await stage.until([one], [service])
  expect(back?.metadata.annotations).not.toHaveProperty([allowed])
  await stage.annotate(other, { 'example.com/touched': 'true' })
  await stage.until(nodes, [service, inside])
})

test('kernel-wave: one node in each zone, in working hours', async (context) => {
  const stage = await prepare(context)
  const zone = 'topology.kubernetes.io/zone'
  const wanted = { 'kernel.example.com/outdated': 'true', 'kernel.example.com/approved': 'true' }
  const nodes = await stage.addNodes('kernel-wave', [
    { ...wanted, [zone]: 'a' },
    { ...wanted, [zone]: 'a' },
    { ...wanted, [zone]: 'b' },
  ])
  const started = Date.now()
  const sunday = Date.parse('2026-03-01T11:00:00Z')
  let jumpMs = 0
  const clock = { ...systemClock, now: () => Date.now() - started + sunday + jumpMs }
  const run = stage.run('kernel-wave.yaml', clock)
  await stage.until(nodes, [required, required, required])
  // Monday, when the window is open; a file that is read anew has every node looked at.
  jumpMs = 86_400_000
  run.setFile(read('kernel-wave.yaml'))
  const working = await eventually(async () => {
    const seen = await Promise.all(nodes.map((name) => stage.ground.node(name)))
    const states = seen.map(({ metadata }) => metadata.labels?.[stateLabel] ?? '')
    expect([states.slice(0, 2).sort(), states[2]]).toEqual([[inside, required], inside])
    return seen.filter(({ metadata }) => metadata.labels?.[stateLabel] === inside)
  }, patient)
  for (const { metadata, spec } of working) {
    expect([spec?.unschedulable, metadata.annotations?.['kernel.example.com/reboot']]).toEqual([true, 'now'])
    expect(metadata.labels).not.toHaveProperty(['kernel.example.com/approved'])
  }
  const names = working.map(({ metadata }) => metadata.name ?? '')
  for (const name of names) await stage.label(name, { 'kernel.example.com/outdated': null })
  const back = await stage.until(names, [service, service])
  for (const { metadata, spec } of back) {
    expect(spec?.unschedulable ?? false).toBe(false)
    expect(metadata.annotations).not.toHaveProperty(['kernel.example.com/reboot'])
  }
  run.setFile(read('kernel-wave.yaml'))
  await stage.until(
    nodes.filter((name) => !names.includes(name)),
    [inside],
  )
})

test('os-upgrade: a node is emptied before the upgrade, and told of in one thread', async (context) => {
  const stage = await prepare(context)
  const nodes = await stage.addNodes('os-upgrade', [{}, {}])
  const [node = ''] = nodes
  await stage.ground.addWorkload(node, { app: 'web', replicas: 3 })
  const { counts } = stage.run('os-upgrade.yaml')
  await stage.until(nodes, [service, service])
  for (const name of nodes) await stage.label(name, { 'os.example.com/upgrade': 'wanted' })
  const [empty] = await stage.until(nodes, [inside, inside])
  expect(empty?.spec?.unschedulable).toBe(true)
  expect(empty?.metadata.annotations).toMatchObject({ 'os.example.com/upgrade-allowed': 'true' })
  expect((await stage.ground.podsOn(node)).filter(({ metadata }) => !metadata.deletionTimestamp)).toEqual([])
  // Counted before the drain moved them, and once.
  expect(counts.all().shuffles.filter(({ value }) => value > 0)).toMatchObject([
    { labels: { owner: 'replica_set_web', profile: 'os-upgrade' }, value: 3 },
  ])
  await eventually(() => expect(stage.slack.heard).toHaveLength(3), patient)
  const [title, ...answers] = stage.slack.heard
  expect(title?.body).toMatchObject({ text: 'Upgrades of the operating system' })
  expect(answers.map(({ body }) => body.thread_ts)).toEqual([title?.ts, title?.ts])
  await stage.label(node, { 'os.example.com/upgrade': 'done' })
  const [back] = await stage.until([node], [service])
  expect(back?.spec?.unschedulable ?? false).toBe(false)
  expect(back?.metadata.labels).not.toHaveProperty(['os.example.com/upgrade'])
  await stage.ground.untilRunning(node, 'web', 3)
})

test('cluster-api: a machine is worked on in place, and replaced when it is empty', async (context) => {
  const stage = await prepare(context)
  const nodes = await stage.addNodes('capi-maintenance--capi-deletion', [{}])
  const [node = ''] = nodes
  const prefix = 'runtime-extension-maintenance-controller.cloud.sap'
  await stage.ground.addWorkload(node, { app: 'web', replicas: 2 })
  stage.run('cluster-api.yaml')
  await stage.until(nodes, [service])
  await stage.label(node, { [`${prefix}/machine-maintenance`]: 'true' })
  const [inPlace] = await stage.until(nodes, [inside])
  expect(inPlace?.metadata.labels).toMatchObject({ [`${prefix}/approve-maintenance`]: 'true' })
  expect(inPlace?.spec?.unschedulable ?? false).toBe(false)
  // The other profile has to wait: the node is taken.
  await stage.label(node, { [`${prefix}/machine-deleted`]: 'true' })
  await stage.label(node, { [`${prefix}/machine-maintenance`]: null })
  const [replaced] = await eventually(async () => {
    const seen = await stage.ground.node(node)
    expect(seen.metadata.labels).toMatchObject({ [`${prefix}/approve-deletion`]: 'true' })
    return [seen]
  }, patient)
  expect(replaced?.metadata.labels).not.toHaveProperty([`${prefix}/approve-maintenance`])
  expect(replaced?.spec?.unschedulable).toBe(true)
  expect((await stage.ground.podsOn(node)).filter(({ metadata }) => !metadata.deletionTimestamp)).toEqual([])
})

test('every example passes the strictest check', async () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  expect(files.length).toBeGreaterThan(3)
  const env = { SLACK_HOOK: 'https://hooks.example/x', SLACK_TOKEN: 'x' }
  for (const name of files) {
    const checked = await fettle(['profiles', 'check', '--strict', join(folder, name)], { env })
    expect(checked, checked.stdout).toMatchObject({ code: 0 })
  }
})
