import type { z } from 'zod'

/** One custom resource of ours: everything that its CRD, its JSON Schema and its reference page are generated from. */
export interface KindDefinition {
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  /** One sentence: what an object of this kind says. */
  readonly description: string
  readonly spec: z.ZodObject
  readonly status: z.ZodObject
  /** An object that the API server accepts as it is; the reference page shows it. */
  readonly example: { readonly name: string; readonly spec: object }
  readonly printerColumns: readonly PrinterColumn[]
  /** Paths that a field selector can name, such as `.spec.nodeName`. */
  readonly selectableFields: readonly string[]
  /**
   * Rules that the API server evaluates, by the path they hang on: `spec`, `spec.nodeName`, `spec.blockers.[]` for each
   * item of a list, or empty for the whole.
   */
  readonly rules: Readonly<Record<string, readonly Rule[]>>
}

export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'date' | 'boolean'
  readonly jsonPath: string
  readonly description: string
  /** 1 shows the column only with -o wide. */
  readonly priority?: 1
}

/** A CEL expression that must be true, and what a person reads when it is not. */
export interface Rule {
  readonly rule: string
  readonly message: string
  /** Which field below it is to blame, such as `.windows`. Default: the one that the rule hangs on. */
  readonly fieldPath?: string
  /** Default FieldValueInvalid. */
  readonly reason?: 'FieldValueForbidden'
}

export const group = 'fettle.dev'
export const version = 'v1alpha1'

/** The value may be set once and stays. Only for fields that are always there, by `required` or a default. */
export const immutable: Rule = { rule: 'self == oldSelf', message: 'cannot be changed; make a new object' }

/**
 * The same for an optional field; hangs on its parent. A transition rule on the field itself is skipped whenever one
 * side lacks it, so that anybody could add the field later, or take it away.
 */
export function immutableOptional(field: string): Rule {
  const [self, oldSelf] = [`self.${field}`, `oldSelf.${field}`]
  return {
    rule: `has(${self}) == has(${oldSelf}) && (!has(${self}) || ${self} == ${oldSelf})`,
    message: 'cannot be added, changed or removed; make a new object',
    fieldPath: `.${field}`,
  }
}

/** For fields whose behaviour is not built yet, better refused than silently ignored; hangs on the parent. */
export function notYet(field: string, options: { readonly mayBeEmpty?: boolean } = {}): Rule {
  const empty = options.mayBeEmpty ? ` || size(self.${field}) == 0` : ''
  return {
    rule: `!has(self.${field})${empty}`,
    message: `${field} has no effect in this version of Fettle; leave it out`,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  }
}
