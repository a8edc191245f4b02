import type { DeclaredObject } from '../declared.ts'
import type { Key } from '../key.ts'
import { type ExplicitEdges, explicitEdges } from './explicit-edges.ts'
import { inOrder, waitsFor } from './graph.ts'
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
export function edgesOf(declared: readonly DeclaredObject[]): Edges | { readonly cycle: readonly Key[] } {
  const objects = new Map([...indexByKey(declared)].sort(([one], [other]) => (one < other ? -1 : 1)))
  const toKeys = (ids: readonly string[]) => ids.flatMap((id) => objects.get(id)?.key ?? [])
  const sorted = [...objects.values()]

  const explicit = explicitEdges(sorted)
  const asked = inOrder(objects.keys(), explicit.after)
  if ('cycle' in asked) return { cycle: toKeys(asked.cycle) }

  const graph = new Map([...explicit.after].map(([id, others]) => [id, [...others]]))
  for (const [id, needed] of inferredEdges(sorted)) {
    // Guesses alone never make a ring: what is needed is always of a lower kind than what needs it.
    if (explicit.after.size > 0 && waitsFor(needed, id, graph)) continue
    const others = graph.get(id)
    if (others) others.push(needed)
    else graph.set(id, [needed])
  }

  const full = inOrder(objects.keys(), graph)
  const layers = new Map<string, number>()
  for (const id of 'order' in full ? full.order : []) {
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
