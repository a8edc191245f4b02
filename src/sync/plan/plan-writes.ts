import { type Key, keyId, keyText } from '../key.ts'
import { type Edges, edgesOf, layerOf } from './order.ts'
import { type DeclaredOutcome, planDeclared } from './plan-declared.ts'
import { indexByKey } from './scope.ts'
import type { ApplyStep, PlanInput, RestStep } from './steps.ts'

export interface Writes {
  readonly applies: readonly ApplyStep[]
  readonly rests: readonly RestStep[]
  readonly unchanged: number
}

/** What is to be done for all that is declared, each with its place in the order. */
export function planWrites(input: PlanInput): Writes {
  const edges = edgesOrRing(input)
  const live = indexByKey(input.observed.objects)
  const members = indexByKey(input.inventory.members)
  const problems = indexByKey(edges.problems)
  const outcomes = input.declared.map((declared) => {
    const id = keyId(declared.key)
    const problem = problems.get(id)
    const outcome: DeclaredOutcome = problem
      ? { do: 'conflict', ...problem }
      : planDeclared(declared, live.get(id), members.get(id), input)
    return { declared, id, outcome }
  })
  const written = new Set(outcomes.flatMap(({ id, outcome }) => (isWrite(outcome) ? id : [])))
  const needs = needsAmong(written, edges)
  const applies: ApplyStep[] = []
  const rests: RestStep[] = []
  for (const { declared, id, outcome } of outcomes) {
    const { key } = declared
    if (isWrite(outcome)) {
      const layer = edges.layers.get(id) ?? layerOf(key)
      applies.push({ ...outcome, key, declared, layer, after: needs(edges.after.get(id) ?? []) })
    } else if (outcome.do !== 'nothing') rests.push(outcome)
  }
  return { applies, rests, unchanged: input.declared.length - applies.length - rests.length }
}

function edgesOrRing({ declared }: PlanInput): Edges {
  const edges = edgesOf(declared)
  if (!('cycle' in edges)) return edges
  const way = [...edges.cycle, ...edges.cycle.slice(0, 1)].map(keyText).join(' after ')
  const why = `each would have to come first: ${way}; take one of these edges away`
  return { after: new Map(), layers: new Map(), problems: edges.cycle.map((key) => ({ key, why })) }
}

function isWrite(outcome: DeclaredOutcome): outcome is Exclude<DeclaredOutcome, RestStep | { readonly do: 'nothing' }> {
  return outcome.do === 'create' || outcome.do === 'update' || outcome.do === 'adopt'
}

/** Only what this plan writes can be waited for; through what stays as it is, the wait goes on to what lies behind. */
function needsAmong(written: ReadonlySet<string>, { after }: Edges): (keys: readonly Key[]) => readonly Key[] {
  // Many objects of a wave share one list; it is walked once.
  const known = new Map<readonly Key[], readonly Key[]>()
  return (keys) => {
    const found = known.get(keys) ?? [...reached(keys, written, after)]
    known.set(keys, found)
    return found
  }
}

function* reached(keys: readonly Key[], written: ReadonlySet<string>, after: Edges['after']): Generator<Key> {
  const seen = new Set<string>()
  const lists = new Set([keys])
  for (const list of lists) {
    for (const key of list) {
      const id = keyId(key)
      if (seen.has(id)) continue
      seen.add(id)
      if (written.has(id)) yield key
      else lists.add(after.get(id) ?? [])
    }
  }
}
