import type { JsonObject } from '../json.ts'
import type { Key } from '../key.ts'
import type { ObservedObject } from '../observed.ts'
import { type ExplicitEdges, explicitEdges, type Ordered } from './explicit-edges.ts'
import { type Graph, inOrder, waitsFor } from './graph.ts'
import { inferredEdges } from './inferred-edges.ts'
import { layerOf } from './layers.ts'
import { indexByKey } from './scope.ts'

export { layerOf } from './layers.ts'

export interface Edges {
  /** By the id of a key: what has to be there, and healthy, before it. */
  readonly after: ReadonlyMap<string, readonly Key[]>
  /** By the id of a key: its own layer, or the higher one of something it waits for. */
  readonly layers: ReadonlyMap<string, number>
  readonly problems: ExplicitEdges['problems']
}

/**
 * In which order the objects of a set have to come. A ring that the repository asks for is an error; one that only
 * our guesses close is opened by dropping the guess.
 */
export function edgesOf(declared: readonly Ordered[]): Edges | { readonly cycle: readonly Key[] } {
  const web = webOf(declared)
  if ('cycle' in web) return web
  const { objects, explicit, graph, order } = web
  const toKeys = (ids: readonly string[]) => ids.flatMap((id) => objects.get(id)?.key ?? [])

  const layers = new Map<string, number>()
  for (const id of order) {
    const own = objects.get(id)
    const highest = (graph.get(id) ?? []).reduce((most, other) => Math.max(most, layers.get(other) ?? 0), 0)
    // A wave begins when the one before it is done with all its layers.
    layers.set(id, own ? Math.max(layerOf(own.key), highest) : highest + 1)
  }

  const points = new Map([...graph].filter(([id]) => !objects.has(id)).map(([id, ids]) => [id, toKeys(ids)]))
  const after = new Map<string, readonly Key[]>()
  for (const id of objects.keys()) {
    const others = [...new Set(graph.get(id))]
    const only = others.length === 1 ? points.get(others[0] ?? '') : undefined
    if (others.length > 0) after.set(id, only ?? others.flatMap((other) => points.get(other) ?? toKeys([other])))
  }
  return { after, layers, problems: explicit.problems }
}

/**
 * In which order live objects go: by the id of a key, the layer; the highest goes first, and is gone before the next one
 * is begun. That is the order of kinds, but what was said to come after something is gone before it, and so is a wave,
 * with the layers of its kinds, before an earlier one.
 */
export function deletionLayers(going: readonly ObservedObject[]): ReadonlyMap<string, number> {
  const web = webOf(
    going.map(({ key, body, metadata }) => ({ key, body: { ...body, metadata: metadata as JsonObject } })),
  )
  const layers = new Map<string, number>()
  // Live objects may say together what no commit ever said. Then their kinds alone decide.
  if ('cycle' in web) return layers
  const { objects, explicit, graph, order } = web
  for (const id of order) {
    const key = objects.get(id)?.key
    const needs = graph.get(id) ?? []
    const asked = explicit.after.get(id)?.length ?? 0
    const lowest = needs.map((need, index) => {
      const there = layers.get(need) ?? 0
      const needed = objects.get(need)?.key
      if (key === undefined || (needed && index < asked)) return there + 1
      // As far apart as their kinds: who needs what was moved up moves along.
      return there + layerOf(key) - (needed ? layerOf(needed) : 0)
    })
    layers.set(
      id,
      [key ? layerOf(key) : 0, ...lowest].reduce((one, other) => Math.max(one, other)),
    )
  }
  return layers
}

interface Web {
  readonly objects: ReadonlyMap<string, Ordered>
  readonly explicit: ExplicitEdges
  /** What is said first, then what follows from manifests. */
  readonly graph: Graph
  /** Each behind all that it needs. */
  readonly order: readonly string[]
}

function webOf(all: readonly Ordered[]): Web | { readonly cycle: readonly Key[] } {
  const objects = new Map([...indexByKey(all)].sort(([one], [other]) => (one < other ? -1 : 1)))
  const sorted = [...objects.values()]
  const explicit = explicitEdges(sorted)
  const asked = inOrder(objects.keys(), explicit.after)
  if ('cycle' in asked) return { cycle: asked.cycle.flatMap((id) => objects.get(id)?.key ?? []) }

  const graph = new Map([...explicit.after].map(([id, others]) => [id, [...others]]))
  for (const [id, needed] of inferredEdges(sorted)) {
    // Guesses alone never make a ring: what is needed is always of a lower kind than what needs it.
    if (explicit.after.size > 0 && waitsFor(needed, id, graph)) continue
    const others = graph.get(id)
    if (others) others.push(needed)
    else graph.set(id, [needed])
  }
  const full = inOrder(objects.keys(), graph)
  return { objects, explicit, graph, order: 'order' in full ? full.order : [] }
}
