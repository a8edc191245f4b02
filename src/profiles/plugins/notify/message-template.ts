import { checkTemplate, readTemplate, renderTemplate } from '../../../text/index.ts'
import type { FieldProblem, NotifyContext } from '../../plugin.ts'
import { NotSent } from './not-sent.ts'
import { exampleData, templateData } from './template-data.ts'

/** What a config says in templates, by the field that holds it. */
type Texts = Readonly<Record<string, string>>

/** Templates that cannot be read. */
export function templateProblems(texts: Texts): FieldProblem[] {
  return Object.entries(texts).flatMap(([field, text]) => {
    const { problem } = readTemplate(text)
    return problem ? [{ field, message: `the template cannot be read: ${problem.message}` }] : []
  })
}

/** Templates that ask for what there is not. No fault of the file: a branch that is never taken does no harm. */
export function templateWarnings(texts: Texts): FieldProblem[] {
  return Object.entries(texts).flatMap(([field, text]) => {
    const { template } = readTemplate(text)
    const problem = template && checkTemplate(template, exampleData())
    return problem
      ? [{ field, message: `the message cannot be written where this is reached: ${problem.message}` }]
      : []
  })
}

/** What makes the text of a message. */
export function messageOf(field: string, text: string): (context: NotifyContext) => string {
  const { template, problem } = readTemplate(text)
  if (!template) throw new Error(`${field} is no template: ${problem.message}`)
  return (context) => {
    const rendered = renderTemplate(template, templateData(context))
    if (rendered.problem) throw new NotSent(`${field} cannot be written: ${rendered.problem.message}`, false)
    return rendered.text
  }
}
