import { expect, test } from 'vitest'
import { budgetName, type MaintenanceBudget } from '../api/index.ts'
import { ApiError, type KubeObject, type NodeObject } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { loadConfig } from './config/load.ts'
import { ProfileCounts } from './counts.ts'
import { nodeOf, noon } from './fixture-pass.ts'
import { InfoBoard } from './info.ts'
import { profileLabel, stateLabel } from './names.ts'
import { plugins } from './plugins/index.ts'
import { type ProfilesPorts, runProfiles } from './run-profiles.ts'

/** A cache that shows at once what is written. */
class View<T extends KubeObject> {
  readonly isSynced = true
  readonly #objects = new Map<string, T>()
  readonly #listeners: ((change: { readonly type: 'updated'; readonly object: T }) => void)[] = []

  get = ({ name }: { readonly name: string }) => this.#objects.get(name)
  values = () => this.#objects.values()
  byIndex = () => []

  subscribe = (listener: (change: { readonly type: 'updated'; readonly object: T }) => void) => {
    this.#listeners.push(listener)
    for (const object of this.values()) listener({ type: 'updated', object })
    return () => undefined
  }

  set(object: T): T {
    this.#objects.set(object.metadata.name ?? '', object)
    for (const listen of this.#listeners) listen({ type: 'updated', object })
    return object
  }
}

const file = `
intervals: {requeue: 10s}
instances:
  check: [{type: maxMaintenance, name: one, config: {max: 1}}]
profiles:
- name: p
  operational: {transitions: [{check: one, next: in-maintenance}]}
`

test('a node that the API server refuses to store gives its seat up, and others get their turn', async () => {
  const clock = new FakeClock(noon)
  const nodes = new View<NodeObject>()
  const budgets = new View<MaintenanceBudget>()
  let version = 1
  const refused: number[] = []
  const next = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(++version) },
  })
  const client = {
    async *list() {
      yield { items: [...nodes.values()].filter(({ metadata }) => metadata.labels?.[stateLabel] === 'in-maintenance') }
    },
    replace: async (_: unknown, budget: MaintenanceBudget) => budgets.set(next(budget)),
    patch: async (_: unknown, { name }: { readonly name: string }, { body }: { readonly body: NodeObject }) => {
      const node = nodes.get({ name }) ?? nodeOf(name)
      const { labels, annotations } = body.metadata
      if (name === 'never') {
        if (labels?.[stateLabel] === 'in-maintenance') refused.push(clock.now() - noon)
        throw new ApiError({ code: 'Invalid', method: 'PATCH', path: 'nodes/never', seen: 'in memory' })
      }
      const metadata = {
        ...node.metadata,
        labels: { ...node.metadata.labels, ...labels },
        annotations: { ...node.metadata.annotations, ...annotations },
      }
      return nodes.set(next({ ...node, metadata }))
    },
  }
  const budget = { metadata: { name: budgetName, uid: 'u', resourceVersion: '1' }, spec: {}, status: { slots: [] } }
  budgets.set(budget as unknown as MaintenanceBudget)
  for (const name of ['never', 'other']) nodes.set(nodeOf(name, { labels: { [profileLabel]: 'p' } }))
  const { config } = loadConfig(file, { env: {}, plugins })
  const stop = new AbortController()
  const [pods, requests, freezes, disruptionBudgets] = [new View(), new View(), new View(), new View()]
  const ended = runProfiles(
    {
      ...{ client, clock, random: () => 0.5, board: new InfoBoard(), counts: new ProfileCounts() },
      log: { info: () => undefined, warn: () => undefined },
      recorder: { record: () => undefined },
      views: { nodes, budgets, pods, requests, disruptionBudgets },
      windows: { freezes },
      workloads: { replicaSets: pods, deployments: pods, statefulSets: pods, daemonSets: pods },
      config: { current: () => config, subscribe: () => () => undefined },
      isDryRun: false,
    } as unknown as ProfilesPorts,
    stop.signal,
  )
  for (let second = 0; second < 60; second++) await clock.advance(1_000)
  expect(nodes.get({ name: 'other' })?.metadata.labels?.[stateLabel]).toBe('in-maintenance')
  // It was the first to ask; and now there is no room for it.
  expect(refused).toEqual([0])
  expect(budgets.get({ name: budgetName })?.status?.admissions).toEqual([])
  stop.abort()
  await ended
})
