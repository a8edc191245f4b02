import { expect, test } from 'vitest'
import type { NodeObject, PodObject } from '../kube/index.ts'
import type { Admission } from './admissions.ts'
import { loadConfig } from './config/load.ts'
import { explainNode } from './explain.ts'
import { type NodeParts, nodeOf, noon, passOf } from './fixture-pass.ts'
import { dataAnnotation, profileLabel } from './names.ts'
import { plugins } from './plugins/index.ts'
import { historyAnnotation, progressAnnotation } from './state/progress.ts'
import { pauseAnnotation } from './state/verbs.ts'

/** noon is a Sunday. */
const file = `intervals: {requeue: 30s}
instances:
  check:
  - {type: hasLabel, name: wanted, config: {key: wanted}}
  - {type: wait, name: rest, config: {duration: 10m}}
  - {type: timeWindow, name: monday, config: {weekdays: [Mon], start: "9:00", end: "17:00"}}
  - {type: maxMaintenance, name: one, config: {max: 1}}
  - {type: stagger, name: turn, config: {duration: 1h, leaseName: turn, leaseNamespace: x}}
  notify:
  - type: slack
    name: tell
    config: {hook: https://hooks.example, channel: x, message: y}
    schedule: {type: oneshot, config: {delay: 1000h}}
  trigger:
  - {type: eviction, name: cordon, config: {action: cordon}}
  - {type: eviction, name: drain, config: {action: drain}}
profiles:
- name: p
  operational: {notify: tell, transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required:
    transitions:
    - {check: wanted && rest && monday, next: in-maintenance, trigger: cordon && drain}
    - {check: "!wanted", next: operational}
- name: entered
  operational: {transitions: [{check: one, next: in-maintenance}]}
  in-maintenance: {enter: cordon && drain, transitions: [{check: wanted, next: operational}]}
- name: staggered
  operational: {transitions: [{check: turn, next: maintenance-required}]}
`
const { config } = loadConfig(file, { env: {}, plugins })

interface Given {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly profiles?: NonNullable<NodeParts['profiles']>
  readonly pods?: readonly PodObject[]
  readonly frozen?: string
  readonly others?: readonly NodeObject[]
  readonly admissions?: readonly Admission[]
}

async function explain(given: Given) {
  const { labels = {}, annotations = {}, profiles, pods = [], frozen, others = [], admissions = [] } = given
  if (!config) throw new Error('the file of this test cannot be read')
  const node: NodeObject = nodeOf('n1', {
    labels: { [profileLabel]: 'p', ...labels },
    annotations,
    ...(profiles ? { profiles } : {}),
  })
  const { cluster, doors, signal } = passOf({ node, pods, nodes: [node, ...others] })
  return explainNode(node, { config, cluster, doors, signal, nowMs: noon, frozen, admissions, whyNot: () => frozen })
}

const required = { p: { state: 'maintenance-required', sinceMs: noon - 60_000 } } as const

test('says when checks that only need time will pass', async () => {
  const { profiles } = await explain({ labels: { wanted: 'true' }, profiles: required })
  const [profile] = profiles
  expect(profile?.since).toBe('2026-03-01T11:59:00Z')
  expect(profile?.transitions.map(({ target, passesAt }) => [target, passesAt])).toEqual([
    ['in-maintenance', '2026-03-02T09:01:00.000Z'],
    ['operational', null],
  ])
  expect(profile?.next).toBe(
    'the checks for in-maintenance pass at 2026-03-02T09:01:00.000Z, if nothing but the time changes',
  )
})

test('does not promise what time alone does not bring', async () => {
  const { profiles } = await explain({})
  expect(profiles[0]).toMatchObject({
    state: 'operational',
    since: null,
    transitions: [{ target: 'maintenance-required', isPassed: false, passesAt: null }],
    next: 'it stays operational: no transition passes; it is looked at again within 30 s, and whenever the node changes',
  })
})

test('says what happens at the next look', async () => {
  const { profiles } = await explain({ labels: { wanted: 'true' } })
  expect(profiles[0]).toMatchObject({
    transitions: [{ isPassed: true }],
    next: 'it becomes maintenance-required at the next look',
  })
})

test('shows a check that cannot tell as a fault', async () => {
  const { profiles } = await explain({ labels: { [profileLabel]: 'staggered' } })
  expect(profiles[0]?.transitions[0]?.chain.error).toContain('turn: ')
  expect(profiles[0]?.next).toMatch(/^it stays operational, because of a fault \(check\): turn: /)
})

test('tells what a transition under way waits for', async () => {
  const since = new Date(noon - 30_000).toISOString()
  const way = {
    from: 'maintenance-required',
    next: 'in-maintenance',
    trigger: 1,
    since,
    check: '',
    triggers: ['cordon', 'drain'],
  }
  const pods = [
    { metadata: { name: 'web', namespace: 'shop' }, spec: { nodeName: 'n1' } },
    {
      metadata: { name: 'each', namespace: 'shop', ownerReferences: [{ kind: 'DaemonSet', name: 'each', uid: 'u' }] },
      spec: { nodeName: 'n1' },
    },
  ] as PodObject[]
  const { profiles } = await explain({
    profiles: required,
    annotations: { [progressAnnotation]: JSON.stringify({ inFlight: { p: way } }) },
    pods,
  })
  expect(profiles[0]?.inFlight).toEqual({
    to: 'in-maintenance',
    since,
    trigger: 'drain (eviction), 2 of 2; pods that are left: 1 (shop/web)',
  })
  expect(profiles[0]?.next).toContain('it is in-maintenance when the triggers of the way there are done')
})

test('a pause is told, and what would happen without it', async () => {
  const paused = await explain({ labels: { wanted: 'true' }, annotations: { [pauseAnnotation]: 'vendor on site' } })
  expect(paused).toMatchObject({
    paused: 'vendor on site',
    profiles: [{ next: 'it becomes maintenance-required at the next look' }],
  })
})

test('names that the file does not have, data that cannot be read, a freeze, messages and history are told', async () => {
  const entry = { at: '2026-03-01T10:00:00Z', profile: 'p', from: 'operational', to: 'in-maintenance', why: 'wanted' }
  const pending = { profile: 'p', instance: 'tell', state: 'operational', previous: 'operational', at: entry.at }
  const told = await explain({
    labels: { [profileLabel]: 'p--typo' },
    annotations: {
      [progressAnnotation]: JSON.stringify({ pending: [pending] }),
      [historyAnnotation]: JSON.stringify([entry]),
    },
    frozen: 'frozen by jdoe',
  })
  expect(told).toMatchObject({
    label: 'p--typo',
    unknown: ['typo'],
    known: ['p', 'entered', 'staggered', 'default'],
    frozen: 'frozen by jdoe',
    pending: [pending],
    history: [entry],
  })
  const broken = await explain({ annotations: { 'cloud.sap/maintenance-data': '{"Other":1}' } })
  expect(broken).toMatchObject({ profiles: [], problem: expect.stringContaining('fettle profiles abort n1') as string })
})

test('a node that is drained on entering waits for that, although its way out is open', async () => {
  const data = { Transition: '2026-03-01T11:59:00Z', Current: 'in-maintenance', Previous: 'operational' }
  const { profiles } = await explain({
    labels: { [profileLabel]: 'entered', wanted: 'true' },
    annotations: { [dataAnnotation]: JSON.stringify({ Profiles: { entered: data }, Notifications: {} }) },
    pods: [{ metadata: { name: 'web', namespace: 'shop' }, spec: { nodeName: 'n1' } }],
  })
  expect(profiles[0]).toMatchObject({
    state: 'in-maintenance',
    transitions: [],
    next: 'it stays in-maintenance: drain (eviction) runs until it is done; pods that are left: 1 (shop/web)',
  })
})

test('nodes that the ledger has let in count, and the own admission does not', async () => {
  const admission = (node: string): Admission => ({
    node,
    nodeUID: `uid-${node}`,
    nodeVersion: '1',
    profile: 'entered',
    at: new Date(noon).toISOString(),
  })
  const labels = { [profileLabel]: 'entered' }
  const others = [nodeOf('n2')]
  const { profiles } = await explain({ labels, others, admissions: [admission('n2')] })
  expect(profiles[0]?.transitions[0]).toMatchObject({
    isPassed: false,
    chain: { checks: [{ info: { maintained: 1, nodes: ['n2'] } }] },
  })
  const own = await explain({ labels, others, admissions: [admission('n1')] })
  expect(own.profiles[0]?.next).toBe('it becomes in-maintenance at the next look')
  // One that nobody needs any more, because its node has changed since, is only not tidied away yet.
  const changed = others.map((node) => ({ ...node, metadata: { ...node.metadata, resourceVersion: '2' } }))
  const stale = await explain({ labels, others: changed, admissions: [admission('n2')] })
  expect(stale.profiles[0]?.next).toBe('it becomes in-maintenance at the next look')
})
