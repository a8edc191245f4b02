import type { KubeClient, NodeCondition, NodeObject, PodObject } from '../kube/index.ts'
import { type Clock, systemClock } from '../time/index.ts'
import type { ConfigOf, Fields } from './fields.ts'
import { dataAnnotation, type State } from './names.ts'
import type { PassContext, Plugin } from './plugin.ts'
import { draftOf } from './state/draft.ts'

export { draftOf }

/** Small worlds for tests of plugins: only what a test says is out of the ordinary. */

export const noon = Date.parse('2026-03-01T12:00:00Z')

export interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly conditions?: readonly NodeCondition[]
  /** What the data annotation says: the state of each profile, and since when. */
  readonly profiles?: Readonly<Record<string, { readonly state: State; readonly sinceMs?: number }>>
}

export function nodeOf(
  name: string,
  { labels = {}, annotations = {}, conditions = [], profiles }: NodeParts = {},
): NodeObject {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      labels,
      annotations: profiles ? { ...annotations, [dataAnnotation]: dataText(profiles) } : annotations,
    },
    status: { conditions },
  }
}

function dataText(profiles: NonNullable<NodeParts['profiles']>): string {
  const entries = Object.entries(profiles).map(([name, { state, sinceMs = noon }]) => [
    name,
    { Transition: new Date(sinceMs).toISOString(), Current: state, Previous: state },
  ])
  return JSON.stringify({ Profiles: Object.fromEntries(entries), Notifications: {} })
}

export interface PassParts {
  /** Whose turn it is. Default: a bare one, called n1. */
  readonly node?: NodeObject
  /** All of the cluster. Default: the node alone. */
  readonly nodes?: readonly NodeObject[]
  readonly pods?: readonly PodObject[]
  readonly profile?: string
  readonly state?: State
  readonly transitionMs?: number
  readonly nowMs?: number
  readonly client?: KubeClient
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

export function passOf(parts: PassParts = {}): PassContext {
  const { node = nodeOf('n1'), nodes = [node], pods = [], nowMs = noon } = parts
  return {
    profile: parts.profile ?? 'p',
    state: parts.state ?? 'operational',
    node: draftOf(node),
    transitionMs: parts.transitionMs ?? nowMs,
    nowMs,
    inFile: { has: () => true },
    cluster: { nodes: () => nodes, podsOn: (name) => pods.filter(({ spec }) => spec?.nodeName === name) },
    doors: { client: parts.client ?? nobody, clock: parts.clock ?? systemClock },
    signal: parts.signal ?? new AbortController().signal,
  }
}

/** Nobody is at home: a plugin that asks all the same is at fault. */
const nobody = new Proxy({} as KubeClient, {
  get: (_, verb) => () => Promise.reject(new Error(`this test has no cluster, and somebody calls ${String(verb)}`)),
})

/** With what the fields say of keys that are not given. */
export function configFor<F extends Fields>(fields: F, given: Partial<ConfigOf<F>>): ConfigOf<F> {
  const fallbacks = Object.fromEntries(Object.entries(fields).map(([name, { fallback }]) => [name, fallback]))
  return { ...fallbacks, ...given } as ConfigOf<F>
}

export function createFor<Instance, F extends Fields>(
  plugin: Plugin<Instance, F>,
  given: Partial<ConfigOf<F>>,
): Instance {
  return plugin.create(configFor(plugin.fields, given))
}

/** Which fields a plugin complains about, and in which words. */
export function problemsFor<Instance, F extends Fields>(
  plugin: Plugin<Instance, F>,
  given: Partial<ConfigOf<F>>,
): readonly string[] {
  return (plugin.problems?.(configFor(plugin.fields, given)) ?? []).map(({ field, message }) => `${field}: ${message}`)
}

export function warningsFor<Instance, F extends Fields>(
  plugin: Plugin<Instance, F>,
  given: Partial<ConfigOf<F>>,
): readonly string[] {
  return (plugin.warnings?.(configFor(plugin.fields, given)) ?? []).map(({ field, message }) => `${field}: ${message}`)
}
