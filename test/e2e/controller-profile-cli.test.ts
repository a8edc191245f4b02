import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { eventually, temporaryFolder } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
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
