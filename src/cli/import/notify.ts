import type { NotifyOccasion } from '../../api/index.ts'
import {
  type BudgetDraft,
  carried,
  differs,
  type Finding,
  fitsBudget,
  notNeeded,
  type Part,
  placeText,
  refused,
  type SecretKey,
  type Seen,
} from './finding.ts'
import type { Settings } from './settings.ts'

type Notify = NonNullable<BudgetDraft['notify']>[number]

/** Where messages go, or why they cannot go there. Nothing of an address is ever shown: any part of it may be the secret. */
type Sink =
  | {
      readonly sink: Omit<Notify, 'messages'>
      readonly remark: string
      readonly isSame: boolean
      readonly secretKeys: readonly SecretKey[]
    }
  | { readonly refusal: string }

const occasions = [
  ['drain', 'Drain'],
  ['reboot', 'Reboot'],
  ['uncordon', 'Return'],
] as const
const longestMessage = 4096

export function notifyPart(settings: Settings): Part {
  const [url, hook] = [settings.one('notify-url'), settings.one('slack-hook-url')]
  const unused = ['slack-username', 'slack-channel'].flatMap((flag) => settings.one(flag) ?? [])
  const findings: Finding[] = unused.map((seen) => notNeeded(seen, 'kured itself does not use it any more'))
  const isGiven = (seen: Seen | undefined) => seen !== undefined && seen.text !== ''
  const chosen = isGiven(url) ? url : isGiven(hook) ? hook : undefined
  for (const seen of [url, hook])
    if (seen && seen !== chosen)
      findings.push(notNeeded(seen, chosen ? `kured uses ${chosen.as} alone` : 'nobody is told without it either'))
  const found = chosen && (chosen === url ? sinkOf(chosen) : slackSink(chosen, 'the address that is'))
  const sink = found && 'sink' in found && fitsBudget({ notify: [found.sink] }) ? found : undefined
  const messages = messagesOf(settings, sink !== undefined)
  findings.push(...messages.findings)
  if (!chosen || !sink) {
    if (chosen) findings.push(refused(chosen, found && 'refusal' in found ? found.refusal : incomplete))
    return { findings }
  }
  findings.push((sink.isSame ? carried : differs)(chosen, sink.remark))
  const notify = [{ ...sink.sink, ...(Object.keys(messages.texts).length > 0 ? { messages: messages.texts } : {}) }]
  return { findings, budget: { notify }, secretKeys: sink.secretKeys }
}

const byHand = 'write a notification to spec.notify by hand'
const incomplete = `it lacks something that its service needs; ${byHand}`

function sinkOf(seen: Seen): Sink {
  const { text = '', heldBy } = seen
  const address = /^(["']).+\1$/s.test(text) ? text.slice(1, -1) : text
  const scheme = /^([a-z]+)(?:\+https?)?:\/\//i.exec(address)?.[1]?.toLowerCase()
  if (scheme === 'slack') {
    if (/^slack:\/\/xox/i.test(address))
      return { refusal: `it is the token of a Slack bot; make an incoming webhook, and ${byHand}` }
    return slackSink(
      seen,
      'https://hooks.slack.com/services/ and the three parts, with / between them, of the address that is',
    )
  }
  if (scheme === 'generic') return genericSink(seen)
  if (heldBy !== undefined)
    return { refusal: `it is in ${heldBy}, which is not read; look there which service it names, and ${byHand}` }
  if (scheme === 'smtp') return mailSink(seen, address)
  return {
    refusal: `${scheme ?? 'what it names'} is no service that is known here; let a webhook of yours pass the message on, and ${byHand}`,
  }
}

/** Where a person finds the value. */
function source({ as, place, heldBy }: Seen): string {
  return heldBy === undefined ? `in ${as} (${placeText(place)})` : `in ${heldBy}`
}

function slackSink(seen: Seen, what: string): Sink {
  return {
    sink: { name: 'kured', slack: { urlSecretKey: 'slack-url' } },
    isSame: true,
    remark: 'spec.notify: kured, to Slack; the address goes into the Secret fettle-notify',
    secretKeys: [{ key: 'slack-url', text: `${what} ${source(seen)}` }],
  }
}

function genericSink(seen: Seen): Sink {
  return {
    sink: { name: 'kured', webhook: { urlSecretKey: 'webhook-url' } },
    isSame: false,
    remark:
      'spec.notify: kured, to a webhook that gets the facts as JSON, not the bare message; the address goes into the Secret fettle-notify',
    secretKeys: [
      {
        key: 'webhook-url',
        text: `the address, with https:// in front, that stands behind generic:// ${source(seen)}`,
      },
    ],
  }
}

function mailSink(seen: Seen, address: string): Sink {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url) return { refusal: `it is not an address of a mail server; ${byHand}` }
  const given = new Map([...url.searchParams].map(([key, value]) => [key.toLowerCase(), value]))
  const take = (...names: readonly string[]) =>
    names.map((name) => given.get(name)).find((value) => value !== undefined)
  const port = url.port === '' ? 25 : Number(url.port)
  const security = securityOf(take('encryption'), take('usestarttls'), port)
  const hasPassword = url.password !== ''
  if (hasPassword && (security === 'None' || url.username === ''))
    return { refusal: `it sends a password over a connection that is not protected; protect it, and ${byHand}` }
  if (/^oauth2$/i.test(take('auth') ?? ''))
    return { refusal: `mail is sent with user name and password alone; ${byHand}` }
  const subject = take('subject', 'title')
  const known = ['from', 'fromaddress', 'to', 'toaddresses', 'encryption', 'usestarttls', 'auth', 'subject', 'title']
  const left = [...given.keys()].filter((name) => !known.includes(name))
  return {
    sink: {
      name: 'kured',
      mail: {
        host: url.hostname.replaceAll(/^\[|\]$/g, ''),
        port,
        security,
        from: take('fromaddress', 'from') ?? '',
        to: (take('toaddresses', 'to') ?? '').split(','),
        ...(subject ? { subject: literally(subject) } : {}),
        ...(url.username === '' ? {} : { username: decoded(url.username) }),
        ...(hasPassword ? { passwordSecretKey: 'mail-password' } : {}),
      },
    },
    isSame: left.length === 0,
    remark: [
      'spec.notify: kured, by mail',
      ...(hasPassword ? ['the password goes into the Secret fettle-notify'] : []),
      ...(left.length > 0 ? [`parameters of the address without counterpart: ${left.length}`] : []),
    ].join('; '),
    secretKeys: hasPassword ? [{ key: 'mail-password', text: `the password that is ${source(seen)}` }] : [],
  }
}

function securityOf(
  encryption: string | undefined,
  startTls: string | undefined,
  port: number,
): 'StartTLS' | 'TLS' | 'None' {
  switch ((encryption ?? 'auto').toLowerCase()) {
    case 'none':
      return 'None'
    case 'implicittls':
      return 'TLS'
    case 'explicittls':
      return 'StartTLS'
    default:
      if (port === 465) return 'TLS'
      return /^(no|false|0)$/i.test(startTls ?? '') ? 'None' : 'StartTLS'
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function messagesOf(settings: Settings, isSent: boolean) {
  const findings: Finding[] = []
  const texts: Partial<Record<NotifyOccasion, string>> = {}
  for (const [event, occasion] of occasions) {
    const seen = settings.one(`message-template-${event}`)
    if (!seen) continue
    const template = templateOf(seen.text ?? '')
    if (!isSent) findings.push(notNeeded(seen, 'there is nobody that it would be sent to'))
    else if (template === undefined || template.length > longestMessage)
      findings.push(refused(seen, 'it needs exactly one %s for the node, and no other %; write such a text'))
    else {
      texts[occasion] = template
      findings.push(carried(seen, `spec.notify: kured.messages.${occasion}`))
    }
  }
  return { findings, texts }
}

/** From Go's %s to a template of ours. */
export function templateOf(text: string): string | undefined {
  const parts = text.split(/(%%|%s)/)
  if (parts.filter((part) => part === '%s').length !== 1) return undefined
  if (parts.some((part) => part.includes('%') && part !== '%s' && part !== '%%')) return undefined
  return parts.map((part) => (part === '%s' ? '{{ .Node }}' : part === '%%' ? '%' : literally(part))).join('')
}

/** So that braces in a text are not taken for a template. */
function literally(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}')
}
