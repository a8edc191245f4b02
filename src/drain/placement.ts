import type { NodeObject, PodObject, Taint } from '../kube/index.ts'
import { matchesSelector } from './label-selector.ts'

type PodSpec = NonNullable<PodObject['spec']>
type Toleration = NonNullable<PodSpec['tolerations']>[number]
type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>
type Term = NonNullable<NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']>['nodeSelectorTerms'][number]
type Expression = NonNullable<Term['matchExpressions']>[number]

/**
 * Whether the scheduler may put a pod on a node, as far as the pod itself says where it wants to be: its nodeSelector, the node
 * affinity that it requires, and what it tolerates. What is not known here counts as no. Neither room nor neighbours are
 * looked at.
 */
export function isPlaceFor(node: NodeObject, { spec = {} }: PodObject): boolean {
  const { nodeSelector, affinity, tolerations = [] } = spec
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  return (
    (node.spec?.taints ?? []).every((taint) => !keepsAway(taint) || tolerations.some((one) => tolerates(one, taint))) &&
    matchesSelector({ matchLabels: nodeSelector }, node.metadata.labels) &&
    (terms?.some((term) => matchesTerm(term, node)) ?? true)
  )
}

function keepsAway({ effect }: Taint): boolean {
  return effect === 'NoSchedule' || effect === 'NoExecute'
}

/** Who is tolerated for some seconds only has to leave again. */
function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '', tolerationSeconds } = toleration
  if (tolerationSeconds !== undefined || (effect !== '' && effect !== taint.effect)) return false
  if (operator === 'Exists') return key === '' || key === taint.key
  return operator === 'Equal' && key === taint.key && value === (taint.value ?? '')
}

const nodeName = 'metadata.name'

/** One that asks for nothing matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, { metadata }: NodeObject): boolean {
  const fields = { [nodeName]: metadata.name ?? '' }
  return (
    matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((one) => matchesExpression(one, metadata.labels)) &&
    matchFields.every((one) => one.key === nodeName && matchesExpression(one, fields))
  )
}

/** Nodes can be asked for more and for less as well, by whole numbers. */
function matchesExpression(expression: Expression, labels: Readonly<Record<string, string>> = {}): boolean {
  const { key, operator, values = [] } = expression
  if (operator !== 'Gt' && operator !== 'Lt') return matchesSelector({ matchExpressions: [expression] }, labels)
  const [has, limit] = [labels[key], values[0]].map(wholeNumber)
  if (has === undefined || limit === undefined || values.length !== 1) return false
  return operator === 'Gt' ? has > limit : has < limit
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined
}
