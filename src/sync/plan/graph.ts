/** Who has to wait for whom, by name. */
export type Graph = ReadonlyMap<string, readonly string[]>

/**
 * All names, each behind those it waits for; or names that wait for each other in a ring. Without recursion: the
 * length of a chain is the repository's to choose.
 */
export function inOrder(
  names: Iterable<string>,
  after: Graph,
): { readonly order: string[] } | { readonly cycle: string[] } {
  const order: string[] = []
  const done = new Set<string>()
  for (const first of names) {
    const path: { readonly name: string; next: number }[] = [{ name: first, next: 0 }]
    const onPath = new Set([first])
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = done.has(top.name) ? undefined : after.get(top.name)?.[top.next]
      top.next += 1
      if (next === undefined) {
        if (!done.has(top.name)) order.push(top.name)
        done.add(top.name)
        onPath.delete(top.name)
        path.pop()
      } else if (onPath.has(next)) {
        const ring = path.map(({ name }) => name)
        return { cycle: ring.slice(ring.indexOf(next)) }
      } else if (!done.has(next)) {
        path.push({ name: next, next: 0 })
        onPath.add(next)
      }
    }
  }
  return { order }
}

/** Whether one has to wait for the other, directly or not. */
export function waitsFor(one: string, other: string, after: Graph): boolean {
  const seen = new Set([one])
  const open = [one]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === other) return true
    for (const next of after.get(name) ?? []) {
      if (seen.has(next)) continue
      seen.add(next)
      open.push(next)
    }
  }
  return false
}
