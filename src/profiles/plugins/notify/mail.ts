import { Secret } from '../../../kube/index.ts'
import { inTime, type Letter, postMail } from '../../../notify/index.ts'
import { type ConfigOf, optional, required } from '../../fields.ts'
import type { FieldProblem, Notifier, Plugin } from '../../plugin.ts'
import { messageOf, templateProblems, templateWarnings, writeTexts } from './message-template.ts'
import { mustBeDelivered } from './not-sent.ts'

const fields = {
  address: required('text', 'host and port of the mail server, as mail.example.org:587'),
  from: required('text', 'sender'),
  to: required('texts', 'receivers'),
  subject: required('text', 'subject; no template'),
  message: required('text', 'template of the text'),
  auth: optional('flag', 'whether to log in, by PLAIN; only over TLS, or to this very machine'),
  identity: optional('text', 'on whose behalf to log in, if it is not the user'),
  user: optional('text', 'who logs in'),
  password: optional('text', 'password of the user'),
} as const

type Config = ConfigOf<typeof fields>

/** By SMTP, protected by STARTTLS wherever the server offers it. */
export const mail: Plugin<Notifier, typeof fields> = {
  type: 'mail',
  about: 'Sends a mail by SMTP, over TLS if the server offers it.',
  fields,
  problems: ({ address, from, to, message }) => [
    ...addressProblems(address),
    ...lineProblems('from', [from]),
    ...lineProblems('to', to),
    ...templateProblems({ message }),
  ],
  warnings: ({ message }) => templateWarnings({ message }),
  create(config) {
    const letter = letterOf(config)
    const textOf = messageOf('message', config.message)
    return {
      async send(context, doors, signal) {
        const [text] = await writeTexts([textOf], context, doors, signal)
        const whole = { ...letter, text }
        return mustBeDelivered(await inTime((within) => postMail(whole, within), doors.clock, signal))
      },
    }
  },
}

/** A port of this number expects TLS from the first byte on. */
const tlsPort = 465

function letterOf(config: Config): Omit<Letter, 'text'> {
  const { auth, identity, user, password, from, to } = config
  const { host, port } = addressOf(config.address) ?? { host: '', port: 0 }
  const isHere = ['localhost', '127.0.0.1', '::1'].includes(host)
  return {
    host,
    port,
    tls: port === tlsPort ? 'First' : auth && !isHere ? 'Required' : 'Offered',
    login: auth ? { user, password: new Secret(password), identity } : undefined,
    from,
    to,
    // A line break would begin another header.
    subject: config.subject.replaceAll(/\s*[\r\n]+\s*/g, ' '),
  }
}

function addressProblems(address: string): FieldProblem[] {
  if (addressOf(address)) return []
  return [{ field: 'address', message: 'this is no host with a port; write one such as mail.example.org:587' }]
}

/** With a line break in it an address would end early, and the rest would be read as something else. */
function lineProblems(field: string, texts: readonly string[]): FieldProblem[] {
  if (!texts.some((text) => /\p{Cc}/u.test(text))) return []
  return [
    { field, message: 'it has a line break or another control character; write an address such as ops@example.org' },
  ]
}

function addressOf(address: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}
