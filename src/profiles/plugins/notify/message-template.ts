import { isNotFound, resources } from '../../../kube/index.ts'
import { checkTemplate, readTemplate, renderTemplate } from '../../../text/index.ts'
import type { FieldProblem, NotifyContext, PluginDoors } from '../../plugin.ts'
import { NotSent } from './not-sent.ts'
import { exampleData, templateData, type WholeNode } from './template-data.ts'

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

/** Makes the text of a message; of the whole node, if that is given. */
export type MessageText = (context: NotifyContext, whole?: WholeNode) => string

export function messageOf(field: string, text: string): MessageText {
  const { template, problem } = readTemplate(text)
  if (!template) throw new Error(`${field} is no template: ${problem.message}`)
  return (context, whole) => {
    const rendered = renderTemplate(template, templateData(context, whole))
    if (rendered.problem) throw new NotSent(`${field} cannot be written: ${rendered.problem.message}`, false)
    return rendered.text
  }
}

const callDeadlineMs = 10_000

/** The texts of a message. What the caches do not keep of a node is read only for those who ask for it. */
export async function writeTexts<const Texts extends readonly MessageText[]>(
  texts: Texts,
  context: NotifyContext,
  { client }: PluginDoors,
  signal: AbortSignal,
): Promise<{ readonly [Index in keyof Texts]: string }> {
  const written = (whole?: WholeNode) =>
    texts.map((textOf) => textOf(context, whole)) as { [Index in keyof Texts]: string }
  try {
    return written()
  } catch (error) {
    if (!(error instanceof NotSent)) throw error
    const ref = { name: context.node.metadata.name ?? '' }
    const whole = client.get<WholeNode>(resources.nodes, ref, { signal, deadlineMs: callDeadlineMs })
    return written(await whole.catch((why: unknown) => Promise.reject(isNotFound(why) ? error : why)))
  }
}
