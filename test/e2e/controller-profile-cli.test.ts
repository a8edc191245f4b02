import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { budgetName, maintenanceBudgets } from '../../src/api/index.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { dataAnnotation, profileLabel, progressAnnotation, stateLabel } from '../../src/profiles/index.ts'
import { eventually, temporaryFolder } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
import { profileNodes, realRecorder } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { patient, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

const file = `intervals: {requeue: 1s}
instances:
  check:
  - {type: hasLabel, name: wanted, config: {key: e2e/wanted}}
  - {type: hasLabel, name: allowed, config: {key: e2e/allowed}}
  - {type: hasLabel, name: finished, config: {key: e2e/finished}}
  - {type: maxMaintenance, name: one, config: {max: 1}}
  trigger:
  - {type: eviction, name: cordon, config: {action: cordon}}
  - {type: eviction, name: uncordon, config: {action: uncordon}}
profiles:
- name: p
  abort: uncordon
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: allowed && one, next: in-maintenance, trigger: cordon}]}
  in-maintenance: {transitions: [{check: finished, next: operational, trigger: uncordon}]}
`

/** No API server takes it. */
const wrong = `  - {type: alterLabel, name: wrong, config: {key: wrong, value: "no value of a label!"}}\n`

test('people see why a node waits, pause it, let it go on, and abort', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const node = await ground.addNode({ labels: { [profileLabel]: 'p--typo', 'e2e/wanted': 'true' } })
  const path = join(temporaryFolder(context), 'maintenance.yaml')
  writeFileSync(path, file)
  const run = (...args: string[]) => fettle([...args, '--kubeconfig', adminKubeconfig(ground.record)])
  const explain = () => run('profiles', 'explain', node, '--profiles', path)
  const until = (state: string) =>
    eventually(async () => {
      const { metadata } = await ground.node(node)
      expect(metadata.labels?.[stateLabel]).toBe(state)
    }, patient)
  const label = (key: string) =>
    ground.admin.patch(
      resources.nodes,
      { name: node },
      {
        type: 'merge',
        body: { metadata: { labels: { [key]: 'true' } } },
      },
    )

  // Before any controller has looked, and without a trace of having looked.
  const first = await explain()
  expect(first.stdout).toContain('profile p: operational\n  → maintenance-required is taken: wanted\n')
  expect(first.stdout).toContain('the label names typo, which is not in the file; it has: p, default')
  expect((await ground.node(node)).metadata.annotations).not.toHaveProperty([dataAnnotation])

  startProfiles(context, ground, file)
  await until('maintenance-required')
  const waiting = await explain()
  expect(waiting.stdout).toContain('→ in-maintenance does not pass: allowed && one')
  expect(waiting.stdout).toMatch(/ {6}no {3}allowed \(hasLabel\)/)
  expect(waiting.stdout).toMatch(
    / {6}yes {2}one \(maxMaintenance\) {2}scope: cluster, maintained: 0, max: 1, nodes: none/,
  )
  expect(waiting.stdout).toContain('p: operational → maintenance-required  (wanted)')

  expect((await run('profiles', 'pause', node, '--reason', 'vendor on site')).stdout).toContain(`${node}: paused`)
  await label('e2e/allowed')
  const paused = await explain()
  expect(paused.stdout).toContain('paused: vendor on site (')
  expect(paused.stdout).toContain('next: it becomes in-maintenance at the next look')
  expect((await run('profiles', 'status')).stdout).toContain(`paused: ${node}: vendor on site`)
  await until('maintenance-required')
  expect((await run('profiles', 'resume', node)).stdout).toBe(`${node}: its profiles go on\n`)
  await until('in-maintenance')
  expect((await run('profiles', 'resume', node)).stdout).toBe(`${node}: was not paused\n`)

  // Else it would be taken again at once.
  const body = { metadata: { labels: { 'e2e/allowed': null, 'e2e/wanted': null } } }
  await ground.admin.patch(resources.nodes, { name: node }, { type: 'merge', body })
  const abort = (...more: string[]) => run('profiles', 'abort', node, '--reason', 'wrong node', ...more)
  const asked = await abort()
  expect(asked).toMatchObject({ code: 1 })
  expect(asked.stderr).toContain('say --yes. Nothing was changed.')
  expect(await ground.node(node)).toMatchObject({ spec: { unschedulable: true } })
  expect(await abort('--yes')).toMatchObject({ code: 0 })
  await until('operational')
  const { metadata, spec } = await ground.node(node)
  expect(spec?.unschedulable ?? false).toBe(false)
  expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('profile-abort'))).toEqual([])
  expect((await explain()).stdout).toMatch(/p: in-maintenance → operational {2}\(aborted: wrong node \(/)
})

test('what is installed is found without naming a file, and JSON is for programs', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode({ labels: { [profileLabel]: 'p' } })
  const { namespace } = ground
  const run = (...args: string[]) =>
    fettle([
      'profiles',
      'explain',
      node,
      '--namespace',
      namespace,
      '--kubeconfig',
      adminKubeconfig(ground.record),
      ...args,
    ])
  const missing = await run()
  expect(missing).toMatchObject({ code: 1 })
  expect(missing.stderr).toContain(`there is no ConfigMap ${namespace}/fettle-profiles`)
  await ground.admin.create<KubeObject>(resources.configMaps, {
    metadata: { name: 'fettle-profiles', namespace },
    ...{ data: { 'maintenance.yaml': file } },
  })
  const found = await run('-o', 'json')
  expect(JSON.parse(found.stdout)).toMatchObject({
    node,
    profiles: [{ name: 'p', state: 'operational', transitions: [{ isPassed: false, passesAt: null }] }],
  })
})

test('a node that the ledger has let in keeps others out, and explain says which', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  await eventually(async () => expect((await ground.budget()).status?.slots).toEqual([]), patient)
  const required = {
    Transition: '2026-01-02T03:04:05Z',
    Current: 'maintenance-required',
    Previous: 'maintenance-required',
  }
  const annotations = { [dataAnnotation]: JSON.stringify({ Profiles: { p: required }, Notifications: {} }) }
  // On its way, with a drain that takes its time: its own label does not show it yet.
  const way = {
    from: 'operational',
    next: 'in-maintenance',
    check: 'go',
    triggers: [],
    trigger: 0,
    since: new Date().toISOString(),
  }
  const underWay = { [progressAnnotation]: JSON.stringify({ inFlight: { p: way } }) }
  const { addBare } = profileNodes(ground)
  const first = await addBare('p', { annotations: underWay })
  const second = await addBare('p', { labels: { 'e2e/allowed': '' }, annotations })
  const { uid = '', resourceVersion: nodeVersion = '' } = (await ground.node(first)).metadata
  const entry = { node: first, nodeUID: uid, nodeVersion, profile: 'p', at: new Date().toISOString() }
  await ground.editStatus(maintenanceBudgets, budgetName, { admissions: [entry] })
  const path = join(temporaryFolder(context), 'maintenance.yaml')
  writeFileSync(path, file)
  const run = (...args: string[]) => fettle([...args, '--kubeconfig', adminKubeconfig(ground.record)])
  const { stdout } = await run('profiles', 'explain', second, '--profiles', path)
  expect(stdout).toContain('→ in-maintenance does not pass: allowed && one')
  expect(stdout).toContain(`maintained: 1, max: 1, nodes: ${first}`)
})

test('data that nobody can read begin anew by an abort, and what the API server refuses is told', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { addBare, statesOf } = profileNodes(ground)
  const node = await addBare('p', { annotations: { [dataAnnotation]: '{"Profiles":3}' } })
  const path = join(temporaryFolder(context), 'maintenance.yaml')
  const refused = file.replace('trigger: cordon}', 'trigger: wrong}').replace('  trigger:\n', `  trigger:\n${wrong}`)
  writeFileSync(path, refused)
  const run = (...args: string[]) => fettle([...args, '--kubeconfig', adminKubeconfig(ground.record)])
  const explain = () => run('profiles', 'explain', node, '--profiles', path)
  startProfiles(context, ground, refused, { recorder: realRecorder(context, ground) })
  expect((await explain()).stdout).toContain(`begin anew with \`fettle profiles abort ${node}\``)
  const abort = (...more: string[]) => run('profiles', 'abort', node, '--reason', 'a slip', ...more)
  const asked = await abort()
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('{"Profiles":3}')])
  expect(await abort('--yes')).toMatchObject({ code: 0 })
  await eventually(async () => expect(await statesOf(node)).toEqual({ p: 'operational' }), patient)
  const labels = { 'e2e/wanted': '', 'e2e/allowed': '' }
  await ground.admin.patch(resources.nodes, { name: node }, { type: 'merge', body: { metadata: { labels } } })
  await eventually(async () => {
    const { stdout } = await explain()
    expect(stdout).toMatch(/warned \d+ times, .*Profile p stays maintenance-required: the node could not be written/)
  }, patient)
})
