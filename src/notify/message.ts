import { group, type MaintenanceRequest, type Notification, type NotifyOccasion, version } from '../api/index.ts'
import { readTemplate, renderTemplate } from '../text/index.ts'

/** What a template can say. All of them are texts, and there is always one, if only an empty one. */
export interface Facts {
  readonly Node: string
  readonly Request: string
  readonly Reason: string
  readonly Occasion: NotifyOccasion
  /** What happened, as a sentence. */
  readonly Message: string
  /** What a person can do. */
  readonly Next: string
  readonly Source: string
  readonly By: string
}

export interface Message {
  readonly request: MaintenanceRequest
  readonly facts: Facts
  readonly subject: string
  readonly text: string
  /** Templates that could not be used; what they would have said is said in the default words. */
  readonly problems: readonly TemplateTrouble[]
}

export interface TemplateTrouble {
  readonly template: string
  /** Where it stands: `messages.Held`. */
  readonly path: string
  readonly why: string
}

const defaultTexts: Readonly<Record<NotifyOccasion, string>> = {
  Drain: '{{.Node}} leaves service: {{.Reason}} ({{.Request}}{{with .By}}, asked for by {{.}}{{end}})',
  Reboot: '{{.Node}} is told to reboot: {{.Reason}} ({{.Request}})',
  Return: '{{.Node}}: {{.Message}}: {{.Reason}} ({{.Request}})',
  Held: '{{.Node}} needs a person: {{.Message}} ({{.Request}}, {{.Reason}}){{with .Next}}. Next: {{.}}{{end}}',
}
const defaultSubject = 'Fettle: {{.Node}}: {{.Occasion}}'

/** What is sent. Slack reads marks in a text, so that facts, which anybody may have written, come without them. */
export function composeMessage(
  notification: Pick<Notification, 'messages' | 'slack' | 'mail'>,
  request: MaintenanceRequest,
  occasion: NotifyOccasion,
): Message {
  const facts = factsOf(request, occasion)
  const shown = notification.slack ? withoutMarks(facts) : facts
  const problems: TemplateTrouble[] = []
  const render = (path: string, custom: string | undefined, standard: string): string => {
    const { text, why } = rendered(custom ?? standard, shown)
    if (text !== undefined) return text
    problems.push({ template: custom ?? standard, path, why })
    return rendered(standard, shown).text ?? ''
  }
  return {
    request,
    facts,
    text: render(`messages.${occasion}`, notification.messages?.[occasion], defaultTexts[occasion]),
    subject: oneLine(render('mail.subject', notification.mail?.subject, defaultSubject)),
    problems,
  }
}

/** What a webhook is sent. Fields are added at times, and never taken away. */
export function webhookBody(notification: string, { request, facts, text }: Message): object {
  const { metadata, spec, status } = request
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Notification',
    // The same for every try, so that the other side can tell a repetition.
    id: `${metadata.uid}/${facts.Occasion}/${status?.since ?? ''}`,
    notification,
    occasion: facts.Occasion,
    text,
    message: facts.Message,
    next: facts.Next,
    node: { name: spec.nodeName, uid: spec.nodeUID },
    request: {
      name: metadata.name,
      uid: metadata.uid,
      source: spec.source,
      reason: spec.reason,
      ...(spec.requestedBy === undefined ? {} : { requestedBy: spec.requestedBy }),
    },
  }
}

function factsOf({ metadata, spec, status }: MaintenanceRequest, occasion: NotifyOccasion): Facts {
  return {
    Node: spec.nodeName,
    Request: metadata.name ?? '',
    Reason: spec.reason,
    Occasion: occasion,
    Message: status?.held?.message ?? status?.history?.at(-1)?.message ?? '',
    Next: status?.held?.next ?? '',
    Source: spec.source.kind,
    By: spec.requestedBy ?? '',
  }
}

function rendered(template: string, facts: Facts): { readonly text?: string; readonly why: string } {
  const read = readTemplate(template)
  if (!read.template) return { why: read.problem.message }
  const { text, problem } = renderTemplate(read.template, facts)
  return problem ? { why: problem.message } : { text, why: '' }
}

function withoutMarks(facts: Facts): Facts {
  const escaped = Object.entries(facts).map(([name, text]: [string, string]) => [
    name,
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  ])
  return Object.fromEntries(escaped) as Facts
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
}
