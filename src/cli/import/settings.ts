import { type Finding, notNeeded, placeText, type Seen, stopped } from './finding.ts'

/** How a flag takes its value: alone, from true or false, several between commas, or one each time that it is written. */
export type FlagForm = 'text' | 'switch' | 'list' | 'repeated'

/** All settings of one document, in the order in which the program reads them. */
export interface Source {
  readonly values: readonly Seen[]
  /** Read after the others. */
  readonly environment: readonly Seen[]
}

/** The settings that are in force. */
export interface Settings {
  one(flag: string): Seen | undefined
  /** All items of a flag that can be said several times. */
  all(flag: string): readonly Seen[]
}

/**
 * Which of several settings of the same flag counts. Within a document the last one does, the environment after all
 * others; for lists they add up, since that is how flags are read. A later document replaces what an earlier one said, as
 * several files of values do.
 */
export function inForce(
  forms: Readonly<Record<string, FlagForm>>,
  sources: readonly Source[],
  mayBeHeld: readonly string[],
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const chosen = new Map<string, readonly Seen[]>()
  const findings: Finding[] = []
  const passOver = (losers: readonly Seen[], winner: Seen | undefined) => {
    for (const loser of losers)
      if (winner) findings.push(notNeeded(loser, `${winner.as} (${placeText(winner.place)}) is what counts`))
  }
  const flags = new Set(sources.flatMap((source) => allOf(source).map(({ flag }) => flag)))
  for (const flag of flags) {
    const adds = forms[flag] === 'list' || forms[flag] === 'repeated'
    const given = (seen: readonly Seen[]) => seen.filter((one) => one.flag === flag)
    let before: readonly Seen[] = []
    for (const source of sources) {
      const values = given(source.values)
      const environment = given(source.environment)
      const now = [...(values.length > 0 ? values : before), ...environment]
      if (values.length > 0) passOver(before, values[0])
      before = adds ? now : now.slice(-1)
      if (!adds) passOver(now.slice(0, -1), now.at(-1))
    }
    chosen.set(flag, before)
  }
  const inUse = (flag: string): readonly Seen[] =>
    (chosen.get(flag) ?? []).filter((seen) => isUsable(seen, mayBeHeld.includes(flag)))
  for (const seen of [...chosen.values()].flat())
    if (seen.isUnset) findings.push(notNeeded(seen, 'it is empty, and the chart then passes nothing'))
    else if (!isUsable(seen, mayBeHeld.includes(seen.flag)))
      findings.push(stopped(seen, `its value is in ${seen.heldBy}, which is not read; write it here and try again`))
  return { settings: { one: (flag) => inUse(flag).at(-1), all: inUse }, findings }
}

function isUsable({ isUnset, heldBy }: Seen, mayBeHeld: boolean): boolean {
  return !isUnset && (heldBy === undefined || mayBeHeld)
}

function allOf({ values, environment }: Source): readonly Seen[] {
  return [...values, ...environment]
}
