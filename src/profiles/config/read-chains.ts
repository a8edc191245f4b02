import { type ChainName, type ChainProblem, namesForOriginal, parseCheckChain } from '../chains/check-chain.ts'
import { isReadByOriginal, parseTriggerChain } from '../chains/trigger-chain.ts'
import type { Check, CheckChain, Named } from '../plugin.ts'
import type { InstanceTable } from './read-instances.ts'
import { type Reader, type Spot, unreadable } from './reader.ts'
import { similar } from './similar.ts'
import type { Place } from './yaml-tree.ts'

/** The checks of a transition, which needs some. */
export function readCheck(
  reader: Reader,
  transition: Spot,
  table: InstanceTable<Named<Check>>,
): CheckChain | undefined {
  const chain = chainText(reader, transition, 'check')
  if (chain === unreadable) return undefined
  if (chain === undefined) {
    reader.error(
      transition.at,
      `${transition.path}.check`,
      'the transition has no check; write the names of checks, such as a && !b',
    )
    return undefined
  }
  const parsed = parseCheckChain(chain.text)
  if ('message' in parsed) {
    sayProblem(reader, chain, parsed)
    return undefined
  }
  const checks = findAll(reader, chain, parsed.names, table)
  const original = namesForOriginal(chain.text)
  if (original.length !== parsed.names.length || parsed.names.some(({ name }, index) => name !== original[index]))
    reader.warn(
      chain.at,
      chain.path,
      'the original cannot read this; if you may go back to it, put single blanks between names and operators, on one line',
    )
  if (checks.length !== parsed.names.length) return undefined
  return { expression: chain.text, checks, evaluate: (answers) => parsed.evaluate(answers) }
}

/** Triggers and notifications are chained alike. */
export function readChain<T>(reader: Reader, from: Spot, key: string, table: InstanceTable<T>): readonly T[] {
  const chain = chainText(reader, from, key)
  if (chain === undefined || chain === unreadable) return []
  const parsed = parseTriggerChain(chain.text)
  if ('message' in parsed) {
    sayProblem(reader, chain, parsed)
    return []
  }
  if (!isReadByOriginal(chain.text, parsed))
    reader.warn(
      chain.at,
      chain.path,
      'the original cannot read this; if you may go back to it, write it on one line without tabs',
    )
  return findAll(reader, chain, parsed, table)
}

interface ChainText {
  readonly text: string
  readonly path: string
  readonly at: Place
  /** Where the text itself begins, if it stands in the file letter by letter. */
  readonly textAt: Place | undefined
  readonly isHidden: boolean
}

function chainText(reader: Reader, from: Spot, key: string): ChainText | undefined | typeof unreadable {
  const spot = reader.field(from, key)
  if (spot === undefined || spot === unreadable) return spot
  const read = reader.value(spot, 'text')
  if (read === unreadable) return unreadable
  const textAt = spot.tree.kind === 'scalar' ? spot.tree.textAt : undefined
  return { text: read.value, path: spot.path, at: spot.at, textAt, isHidden: read.isFromEnvironment }
}

function placeIn({ textAt, at }: ChainText, offset: number): Place {
  return textAt ? { line: textAt.line, column: textAt.column + offset } : at
}

function sayProblem(reader: Reader, chain: ChainText, { offset, message }: ChainProblem): void {
  const shown = chain.isHidden ? 'the chain that the environment gives cannot be read; write names and &&' : message
  reader.error(placeIn(chain, offset), chain.path, shown)
}

/** The instances of a chain, without those whose own problems are noted already. */
function findAll<T>(
  reader: Reader,
  chain: ChainText,
  names: readonly ChainName[],
  table: InstanceTable<T>,
): readonly T[] {
  return names.flatMap(({ name, offset }) => {
    const found = table.find(name)
    if (found === unreadable) return []
    if (found !== undefined) return [found]
    const meant = chain.isHidden ? undefined : similar(name, table.names)
    const shown = chain.isHidden ? 'of a name that the environment gives' : name
    const remedy = meant === undefined ? `write it under instances.${table.kind}` : `did you mean ${meant}?`
    reader.error(placeIn(chain, offset), chain.path, `there is no ${table.kind} ${shown}; ${remedy}`)
    return []
  })
}
