/** What was probably meant: the one candidate that is the same but for case, dashes or a slip of two letters. */
export function similar(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = 3
  for (const candidate of candidates) {
    const distance = plain(word) === plain(candidate) ? 0 : slips(word, candidate)
    if (distance < least && distance < candidate.length / 2) {
      best = candidate
      least = distance
    }
  }
  return best
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, '')
}

/** Letters to put in, take out or change. */
function slips(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return 3
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++)
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)),
      )
    row = next
  }
  return row[to.length] ?? 3
}
