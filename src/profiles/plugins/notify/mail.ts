import { Secret } from '../../../kube/index.ts'
import { inTime, type Letter, postMail } from '../../../notify/index.ts'
import { type ConfigOf, optional, required } from '../../fields.ts'
import type { FieldProblem, Notifier, Plugin } from '../../plugin.ts'
import { type MailServer, mailServerOf } from './mail-server.ts'
import { messageOf, templateProblems, templateWarnings, writeTexts } from './message-template.ts'
import { mustBeDelivered, NotSent } from './not-sent.ts'

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
  problems: ({ message }) => templateProblems({ message }),
  // The original finds out when it sends: a file that loads there must load here.
  warnings: ({ address, from, to, message }) => [
    ...addressWarnings(address),
    ...lineWarnings('from', [from]),
    ...lineWarnings('to', to),
    ...templateWarnings({ message }),
  ],
  create(config) {
    const server = mailServerOf(config.address)
    const textOf = messageOf('message', config.message)
    return {
      async send(context, doors, signal) {
        if (!server) throw new NotSent(`no mail can be sent to the address: ${noServer}`, false)
        const [text] = await writeTexts([textOf], context, doors, signal)
        const letter = { ...letterOf(config, server), text }
        return mustBeDelivered(await inTime((within) => postMail(letter, within), doors.clock, signal))
      },
    }
  },
}

const noServer = 'it is no host with a port; write one such as mail.example.org:587'

/** A port of this number expects TLS from the first byte on. */
const tlsPort = 465

function letterOf(config: Config, { host, port }: MailServer): Omit<Letter, 'text'> {
  const { auth, identity, user, password, from, to } = config
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

function addressWarnings(address: string): FieldProblem[] {
  return mailServerOf(address) ? [] : [{ field: 'address', message: `no mail can be sent: ${noServer}` }]
}

/** With a line break in it an address would end early, and the rest would be read as something else: nobody is told. */
function lineWarnings(field: string, texts: readonly string[]): FieldProblem[] {
  if (!texts.some((text) => /\p{Cc}/u.test(text))) return []
  const what = 'it has a line break or another control character; write an address such as ops@example.org'
  return [{ field, message: `no mail can be sent: ${what}` }]
}
