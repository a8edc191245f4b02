import { goDurationMs, longestDurationMs } from '../../time/index.ts'
import type { Field, FieldKind } from '../fields.ts'
import { goFloatText, goInteger } from './go-numbers.ts'
import type { ScalarValue } from './plain-scalar.ts'
import { retype, unquoted } from './retype.ts'
import type { Tree, TreeScalar } from './yaml-tree.ts'

export type ValueOf<K extends FieldKind> = Field<K>['fallback']

/** Or a sentence: what was seen, and what to write. */
export type Coerced<T> = { readonly value: T } | { readonly problem: string }

/** Reads a value as the kind that is wanted. Null never comes here: it means that nothing is there. */
export const coerce: { readonly [K in FieldKind]: (tree: Tree) => Coerced<ValueOf<K>> } = {
  text: (tree) => {
    if (tree.kind !== 'scalar') return wrong(tree, 'write one text')
    return { value: textOf(tree) }
  },

  flag: (tree) => {
    const value = singleOf(tree)
    if (typeof value === 'boolean') return { value }
    if (typeof value === 'string') {
      if (/^(1|t|T|true|True|TRUE)$/.test(value)) return { value: true }
      if (/^(0|f|F|false|False|FALSE)$/.test(value)) return { value: false }
    }
    return wrong(tree, 'write true or false without quotes')
  },

  integer: (tree) => {
    const value = singleOf(tree)
    const number =
      typeof value === 'bigint'
        ? Number(value)
        : typeof value === 'number'
          ? Math.trunc(value)
          : typeof value === 'string'
            ? Number(goInteger(value) ?? Number.NaN)
            : Number.NaN
    if (!Number.isSafeInteger(number)) return wrong(tree, 'write a whole number')
    return { value: number === 0 ? 0 : number }
  },

  duration: (tree) => {
    const value = singleOf(tree)
    const isNumber = typeof value === 'bigint' || typeof value === 'number'
    const ms = isNumber ? Number(value) * 1_000 : typeof value === 'string' ? goDurationMs(value) : undefined
    if (ms === undefined || !(Math.abs(ms) < longestDurationMs))
      return wrong(tree, 'write a duration with its unit, such as 90s, 10m or 1h30m; a day is 24h')
    return { value: ms }
  },

  durationText: (tree) => {
    const ms = tree.kind === 'scalar' ? goDurationMs(textOf(tree)) : undefined
    if (ms === undefined) return wrong(tree, 'write a duration with its unit, such as 90s, 10m or 1h30m; a day is 24h')
    return { value: ms }
  },

  texts: (tree) => {
    if (tree.kind === 'map') return wrong(tree, 'write a list of texts')
    if (tree.kind === 'scalar') {
      if (tree.isExpanded !== true) return { value: [textOf(tree)] }
      const values = retype(String(tree.value))
      return values ? { value: values.map(scalarText) } : wrong(tree, 'its quotes or brackets do not end; mend them')
    }
    const texts: string[] = []
    for (const item of tree.items) {
      if (item.kind !== 'scalar') return wrong(item, 'write a list of plain texts')
      texts.push(textOf(item))
    }
    return { value: texts }
  },
}

/**
 * A text that came out of `${…}` stays as it is, commas and brackets included: it may be a password. Only blanks
 * around it and quotes around all of it go, as the original does it: files with secrets often end in a line break.
 */
function textOf({ value, isExpanded }: TreeScalar): string {
  if (isExpanded !== true) return scalarText(value)
  const text = scalarText(value).trim()
  return unquoted(text) ?? text
}

function scalarText(value: ScalarValue): string {
  if (value === null) return ''
  return typeof value === 'number' ? goFloatText(value) : String(value)
}

/** What stands there as one value; lists have none. */
function singleOf(tree: Tree): ScalarValue | undefined {
  if (tree.kind !== 'scalar') return undefined
  if (tree.isExpanded !== true) return tree.value
  const [only, ...more] = retype(String(tree.value)) ?? []
  return more.length > 0 ? undefined : only
}

function wrong(tree: Tree, remedy: string): { readonly problem: string } {
  return { problem: `it is ${seen(tree)}; ${remedy}` }
}

/** How a value is spoken of. */
export function seen(tree: Tree): string {
  if (tree.kind === 'map') return 'a mapping'
  if (tree.kind === 'list') return 'a list'
  if (tree.isFromEnvironment === true) return 'a value from the environment that does not fit here'
  const text = scalarText(tree.value)
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return typeof tree.value === 'string' ? JSON.stringify(short) : short
}
