import { TemplateFault } from './fault.ts'
import { field } from './render.ts'
import { Struct } from './struct.ts'
import type { Command, Node, Operand, Pipe, Template } from './tree.ts'
import { isList, type Value } from './value.ts'

/** What is known of a value before there are data: the one of the example, or nothing. */
type Known = Value

/** Throws for the first field that the data will not have, also in branches that the example would not take. */
export function mustKnowFields({ body, parts }: Template, example: Struct): void {
  walk(body, example, example)
  // Whoever calls a part decides what it works on.
  for (const nodes of parts.values()) walk(nodes, undefined, undefined)
}

function walk(nodes: readonly Node[], dot: Known, root: Known): void {
  for (const node of nodes) {
    if (node.kind === 'show' || (node.kind === 'template' && node.pipe)) pipeOf(node.pipe as Pipe, dot, root)
    if (node.kind !== 'if' && node.kind !== 'with' && node.kind !== 'range') continue
    const value = pipeOf(node.pipe, dot, root)
    const inside = { if: dot, with: value, range: isList(value) ? value[0] : undefined }
    walk(node.body, inside[node.kind], root)
    walk(node.otherwise, dot, root)
  }
}

function pipeOf({ commands }: Pipe, dot: Known, root: Known): Known {
  const values = commands.map((command, index) => commandOf(command, index > 0, dot, root))
  return commands.length === 1 ? values[0] : undefined
}

function commandOf([first, ...others]: Command, isLater: boolean, dot: Known, root: Known): Known {
  for (const operand of others) operandOf(operand, false, dot, root)
  return operandOf(first, others.length > 0 || isLater, dot, root)
}

function operandOf(operand: Operand, hasArguments: boolean, dot: Known, root: Known): Known {
  switch (operand.kind) {
    case 'dot':
      return dot
    case 'variable':
      return operand.name === '$' ? root : undefined
    case 'pipe':
      return pipeOf(operand.pipe, dot, root)
    case 'fields':
      return operand.names.reduce(
        (value, name, index) => next(value, name, hasArguments && index === operand.names.length - 1, operand.at),
        operandOf(operand.of, false, dot, root),
      )
    case 'literal':
    case 'nil':
    case 'function':
      return undefined
  }
}

function next(value: Known, name: string, hasArguments: boolean, at: number): Known {
  const takes = value instanceof Struct ? value.method(name)?.takes : undefined
  if (takes === undefined || (takes === 0 && !hasArguments)) return field(value, name, at)
  if (hasArguments) return undefined
  throw new TemplateFault(at, `.${name} takes ${takes} arguments and got 0`)
}
