import type { PodsBlocker } from '../../api/index.ts'

type Selector = PodsBlocker['selector']
type Expression = NonNullable<Selector['matchExpressions']>[number]

const name = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const key = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${name}`
const value = `(?:${name})?`
const keyForm = new RegExp(`^${key}$`)
const valueForm = new RegExp(`^${value}$`)
const absent = new RegExp(`^!\\s*(${key})$`)
const equal = new RegExp(`^(${key})\\s*(=|==|!=)\\s*(${value})$`)
const among = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)

export function isLabelKey(text: string): boolean {
  return keyForm.test(text)
}

export function isLabelValue(text: string): boolean {
  return valueForm.test(text)
}

/** `app=web,tier in (a, b),!legacy`, as kubectl takes it. Undefined for anything else, `x>5` included. */
export function readSelector(text: string): Selector | undefined {
  const requirements = text.split(/,(?![^(]*\))/).map((one) => readRequirement(one.trim()))
  const matchLabels: Record<string, string> = {}
  const matchExpressions: Expression[] = []
  for (const requirement of requirements) {
    if (!requirement) return undefined
    const [only, ...others] = requirement.values ?? []
    const isPlain = requirement.operator === 'In' && only !== undefined && others.length === 0
    // The same label twice is never true, unless one of them got lost in the map.
    if (isPlain && !Object.hasOwn(matchLabels, requirement.key)) matchLabels[requirement.key] = only
    else matchExpressions.push(requirement)
  }
  return {
    ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  }
}

function readRequirement(text: string): Expression | undefined {
  if (keyForm.test(text)) return { key: text, operator: 'Exists' }
  const missing = absent.exec(text)?.[1]
  if (missing !== undefined) return { key: missing, operator: 'DoesNotExist' }
  const [, single, sign, wanted = ''] = equal.exec(text) ?? []
  if (single !== undefined) return { key: single, operator: sign === '!=' ? 'NotIn' : 'In', values: [wanted] }
  const [, several, word, list = ''] = among.exec(text) ?? []
  const values = list.split(',').map((one) => one.trim())
  if (several === undefined || !values.every(isLabelValue)) return undefined
  return { key: several, operator: word === 'in' ? 'In' : 'NotIn', values }
}
