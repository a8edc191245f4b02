import { problemOf, TemplateFault, type TemplateProblem } from './fault.ts'
import { mustKnowFields } from './known-fields.ts'
import { parse } from './parse.ts'
import { run } from './render.ts'
import type { Struct } from './struct.ts'
import type { Template } from './tree.ts'
import { wellFormed } from './value.ts'

export type ReadTemplate =
  | { readonly template: Template; readonly problem?: undefined }
  | { readonly template?: undefined; readonly problem: TemplateProblem }

export type RenderedTemplate =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: TemplateProblem }

/** A text in the language of Go's text/template. Whatever can be found out without data is found out here. */
export function readTemplate(text: string): ReadTemplate {
  const source = wellFormed(text)
  return attempt(source, () => ({ template: parse(source) }))
}

/** Why it cannot be used with data of this shape, as far as that can be told beforehand. */
export function checkTemplate(template: Template, example: Struct): TemplateProblem | undefined {
  return attempt(template.source, () => {
    mustKnowFields(template, example)
    return { problem: undefined }
  }).problem
}

/** The same template and data give the same text. Data are what JSON can hold, or structs of it. */
export function renderTemplate(template: Template, data: unknown): RenderedTemplate {
  return attempt(template.source, () => ({ text: run(template, data) }))
}

function attempt<T>(source: string, run: () => T): T | { readonly problem: TemplateProblem } {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    return { problem: problemOf(error, source) }
  }
}
