/** Runs over all items, so many at a time; the answers are in the order of the items. The first failure ends it. */
export async function inParallel<T, R>(
  items: readonly T[],
  atATime: number,
  run: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers: R[] = new Array<R>(items.length)
  // One iterator for all: whoever is free takes the next item.
  const rest = items.entries()
  const work = async () => {
    for (const [at, item] of rest) answers[at] = await run(item)
  }
  await Promise.all(Array.from({ length: Math.min(atATime, items.length) }, work))
  return answers
}
