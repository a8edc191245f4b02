import type { LabelSelector } from '../kube/index.ts'

/** As policy/v1 reads selectors: none selects nothing, an empty one selects everything, an unknown operator nothing. */
export function matchesSelector(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  if (!selector) return false
  const hasLabels = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value)
  return hasLabels && (selector.matchExpressions ?? []).every((expression) => matchesExpression(expression, labels))
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number]

function matchesExpression(
  { key, operator, values = [] }: Expression,
  labels: Readonly<Record<string, string>>,
): boolean {
  // A label may be called `constructor`, which every object seems to have.
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return false
  }
}
