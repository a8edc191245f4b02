import { type Node, parseExpression } from './value-expression-parse.ts'
import { isEmpty, operators, toTruth, unaryOperators, type Value } from './value-operators.ts'

/** An expression over one number, such as `value > 5 && value < 10`. */
export interface ValueExpression {
  /** Throws, with a sentence, when it comes to something that is neither true nor false. */
  isTrue(value: number): boolean
}

export type ReadExpression =
  | { readonly expression: ValueExpression; readonly warning: string | undefined }
  | { readonly problem: string }

/** Faults that depend on the value should not be taken for faults of the expression: no value at all must do. */
const trials = [1, 0, 17.5]

/** Finds what is wrong with it without waiting for a value. */
export function readExpression(text: string): ReadExpression {
  const parsed = parseExpression(text)
  if ('problem' in parsed) return parsed
  const expression = { isTrue: (value: number) => toTruth(evaluate(parsed.root, value)) }
  const faults = trials.flatMap((value) => faultOf(() => expression.isTrue(value)) ?? [])
  const [problem] = faults
  if (problem !== undefined && faults.length === trials.length) return { problem }
  const warning = hasChain(parsed.root)
    ? 'comparisons in a row do not mean what they look like; write 1 < value && value < 5'
    : undefined
  return { expression, warning }
}

function faultOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const comparisons: ReadonlySet<string> = new Set(['<', '<=', '>', '>='])

/** Such as 1 < value < 5, which compares the text "true" with the text "5". */
function hasChain(node: Node): boolean {
  switch (node.kind) {
    case 'constant':
    case 'value':
      return false
    case 'list':
      return node.items.some(hasChain)
    case 'unary':
      return hasChain(node.operand)
    case 'choice':
      return [node.condition, node.then, node.otherwise].some((part) => part && hasChain(part))
    case 'binary': {
      const sides = [node.left, node.right]
      const compares = (side: Node) => side.kind === 'binary' && comparisons.has(side.operator)
      return (comparisons.has(node.operator) && sides.some(compares)) || sides.some(hasChain)
    }
  }
}

function evaluate(node: Node, value: number): Value {
  switch (node.kind) {
    case 'constant':
      return node.value
    case 'value':
      return value
    case 'list':
      return node.items.map((item) => evaluate(item, value))
    case 'unary':
      return unaryOperators[node.operator](evaluate(node.operand, value))
    case 'choice':
      if (!isEmpty(evaluate(node.condition, value))) return evaluate(node.then, value)
      return node.otherwise ? evaluate(node.otherwise, value) : false
    case 'binary': {
      const left = evaluate(node.left, value)
      // What decides alone leaves the right side alone, which may be a fault.
      if (node.operator === '&&' && left === false) return false
      if (node.operator === '||' && left === true) return true
      if (node.operator === '??' && !isEmpty(left)) return left
      return operators[node.operator](left, evaluate(node.right, value))
    }
  }
}
