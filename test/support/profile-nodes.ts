import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { EventRecorder, type KubeObject, type NodeObject, resources } from '../../src/kube/index.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { eventually, type Test } from './e2e-cluster.ts'
import { listOf, patient, type QueueGround } from './queue-cluster.ts'

type Texts = Readonly<Record<string, string | null>>

/** What people and other controllers do to nodes that have profiles, and what they can see there. */
export function profileNodes(ground: QueueGround) {
  const { admin, namespace } = ground
  const node = (name: string) => ground.node(name)
  const dataOf = async (name: string): Promise<StoredData> =>
    JSON.parse((await node(name)).metadata.annotations?.[dataAnnotation] ?? '{}') as StoredData
  const change = (name: string, metadata: { readonly labels?: Texts; readonly annotations?: Texts }) =>
    admin.patch<NodeObject>(resources.nodes, { name }, { type: 'merge', body: { metadata } })
  return {
    /** A node of which only its object exists: enough for whatever does not move pods. */
    addBare: async (
      profiles: string | undefined,
      { labels = {}, annotations = {} }: { readonly labels?: Texts; readonly annotations?: Texts } = {},
    ): Promise<string> => {
      const name = `p-${randomBytes(4).toString('hex')}`
      const own = { ...labels, 'e2e.fettle.dev/queue': namespace }
      const all = profiles === undefined ? own : { ...own, [profileLabel]: profiles }
      await admin.create<KubeObject>(resources.nodes, { metadata: { name, labels: all, annotations } } as KubeObject)
      return name
    },
    change,
    dataOf,
    /** By profile. */
    statesOf: async (name: string): Promise<Readonly<Record<string, string>>> => {
      const entries = Object.entries((await dataOf(name)).Profiles ?? {})
      return Object.fromEntries(entries.map(([profile, { Current }]) => [profile, Current]))
    },
    untilState: (name: string, state: string) =>
      eventually(async () => {
        const found = await node(name)
        expect(found.metadata.labels?.[stateLabel], JSON.stringify(found.metadata.annotations)).toBe(state)
        return found
      }, patient),
    /** What profiles told of the node, each with how often. */
    eventsOf: async (name: string): Promise<readonly ToldEvent[]> => {
      const events = await listOf<EventObject>(admin, resources.events, { namespace: 'default' })
      return events
        .filter(({ regarding, reportingController: by }) => regarding?.name === name && by === 'maintenance')
        .map(({ type = '', reason = '', note = '', series }) => ({ type, reason, note, times: series?.count ?? 1 }))
    },
  }
}

interface StoredData {
  readonly Profiles?: Readonly<Record<string, { Transition: string; Current: string; Previous: string }>>
  readonly Notifications?: Readonly<Record<string, string>>
}

interface ToldEvent {
  readonly type: string
  readonly reason: string
  readonly note: string
  readonly times: number
}

interface EventObject extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly note?: string
  readonly reportingController?: string
  readonly series?: { readonly count: number }
  readonly regarding?: { readonly name?: string }
}

/** Tells for real. */
export function realRecorder(test: Test, { admin }: Pick<QueueGround, 'admin'>): EventRecorder {
  const recorder = new EventRecorder({
    client: admin,
    clock: systemClock,
    random: Math.random,
    reportingController: 'maintenance',
    reportingInstance: 'e2e',
  })
  test.onTestFinished(async () => {
    await recorder.stop(AbortSignal.timeout(2_000))
  })
  return recorder
}

/** One transition of a profile: from, the checks, to, its triggers. */
type Way = readonly [from: string, check: string, next: string, trigger?: string]

/** A profile as the file writes it; `more` is what else is in a state, or beside the states. */
export function profile(name: string, ways: readonly Way[], more: Readonly<Record<string, object | string>> = {}) {
  const of = (state: string) => ({
    transitions: ways
      .filter(([from]) => from === state)
      .map(([, check, next, trigger]) => ({ check, next, ...(trigger === undefined ? {} : { trigger }) })),
    ...(more[state] as object | undefined),
  })
  return {
    name,
    operational: of('operational'),
    'maintenance-required': of('maintenance-required'),
    'in-maintenance': of('in-maintenance'),
    ...(more['abort'] === undefined ? {} : { abort: more['abort'] }),
  }
}

interface FileParts {
  readonly requeue?: string
  readonly labelFilter?: readonly string[]
  readonly check?: Readonly<Record<string, readonly [type: string, config: object]>>
  readonly trigger?: Readonly<Record<string, readonly [type: string, config: object]>>
  readonly notify?: Readonly<Record<string, readonly [type: string, config: object, schedule: object]>>
  readonly profiles: readonly object[]
}

/** A whole file; JSON is YAML. */
export function fileOf({
  requeue = '300ms',
  labelFilter = [],
  check = {},
  trigger = {},
  notify = {},
  profiles,
}: FileParts) {
  const plain = (parts: Readonly<Record<string, readonly [string, object]>>) =>
    Object.entries(parts).map(([name, [type, config]]) => ({ type, name, config }))
  const letters = Object.entries(notify).map(([name, [type, config, schedule]]) => ({ type, name, config, schedule }))
  return JSON.stringify(
    {
      intervals: { requeue },
      dashboard: { labelFilter },
      instances: { check: plain(check), trigger: plain(trigger), notify: letters },
      profiles,
    },
    undefined,
    2,
  )
}
