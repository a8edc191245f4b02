const decimal = /^[1-9][0-9]*$/

/** Whether `candidate` is certainly older than `position`. Versions that are not decimal numbers cannot be compared: then no. */
export function isOlderVersion(candidate: string, position: string | undefined): boolean {
  if (position === undefined || !decimal.test(candidate) || !decimal.test(position)) return false
  // They outgrow the exact integers of a number; length, then digits, compares them without parsing.
  if (candidate.length !== position.length) return candidate.length < position.length
  return candidate < position
}
