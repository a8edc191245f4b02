import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Notification } from '../api/index.ts'
import type { Secret } from '../kube/index.ts'
import { codeOf, type Delivery, delivered, inTime, type SendDoors, undelivered } from './delivery.ts'
import type { Message } from './message.ts'

type Mail = NonNullable<Notification['mail']>

/** One mail, and who takes it. */
export interface Letter {
  readonly host: string
  readonly port: number
  /** First: from the first byte. Required, Offered: by STARTTLS; the latter in the clear if the server knows none. */
  readonly tls: 'First' | 'Required' | 'Offered' | 'None'
  readonly login?: Login | undefined
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
}

interface Login {
  readonly user: string
  readonly password: Secret
  /** On whose behalf, which is said in PLAIN alone; and it is said even to a server that does not ask. */
  readonly identity?: string
}

const tlsOf: Readonly<Record<NonNullable<Mail['security']>, Letter['tls']>> = {
  TLS: 'First',
  StartTLS: 'Required',
  None: 'None',
}

/** As a notification of the budget says. */
export function sendMail(
  mail: Mail,
  message: Message,
  { clock, readSecret }: SendDoors,
  signal: AbortSignal,
): Promise<Delivery> {
  const send = async (within: AbortSignal): Promise<Delivery> => {
    const { passwordSecretKey, username: user, host, port, from, to, security } = mail
    const password = passwordSecretKey === undefined ? undefined : await readSecret(passwordSecretKey, within)
    if (typeof password === 'string') return undelivered(password, true)
    const tls = tlsOf[security ?? 'StartTLS']
    const login = tls !== 'None' && user !== undefined && password ? { user, password } : undefined
    const { subject, text } = message
    return postMail({ host, port, tls, login, from, to, subject, text }, within)
  }
  return inTime(send, clock, signal)
}

/** By SMTP, on a connection of its own, which is gone afterwards. Throws only when the signal aborts. */
export async function postMail(letter: Letter, signal: AbortSignal): Promise<Delivery> {
  // A line break would begin another header, and what comes before it would be somebody else.
  if ([letter.from, ...letter.to].some((text) => /\p{Cc}/u.test(text)))
    return undelivered('the sender or a receiver has a line break or another control character; write it anew', false)
  // Our own socket, because the package has no way to be stopped.
  const connection = connect({ host: letter.host, port: letter.port, signal })
  // For faults at a moment when nobody else listens.
  connection.on('error', () => undefined)
  try {
    await once(connection, 'connect')
    return await converse(letter, connection)
  } catch (error) {
    signal.throwIfAborted()
    return judge(error)
  } finally {
    connection.destroy()
  }
}

async function converse(letter: Letter, connection: Socket): Promise<Delivery> {
  const { host, port, tls, login, from, to, subject, text } = letter
  // Only who sends mail waits for it: every other start of the program is a tenth of a second shorter.
  const [{ createTransport }, { default: read }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/addressparser'),
  ])
  const transport = createTransport({
    host,
    port,
    connection,
    secure: tls === 'First',
    // Never in the clear because somebody in between took the offer out.
    requireTLS: tls === 'Required',
    ignoreTLS: tls === 'None',
    ...(login ? authOf(login) : {}),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const receivers = to.map((one) => mailboxesIn(one, read))
  const sent = await transport.sendMail({ from: mailboxesIn(from, read), to: receivers.flat(), subject, text })
  // Those who are nobody, such as a text that is empty, are never named to the server.
  const refused = sent.rejected.length + receivers.filter(({ length }) => length === 0).length
  if (refused === 0) return delivered
  // The others have it, and would have it twice: nobody sends it again. If all are refused, the package throws.
  // Counted by what was tried: one text may name several, and two texts the same one.
  const remark = `the mail server refused ${refused} of ${sent.accepted.length + refused} receivers`
  return { isDelivered: true, remark }
}

interface Mailbox {
  readonly name: string
  readonly address: string
}

/**
 * Who is meant by what people write: `ops@example.org`, `Ops <ops@example.org>`, or `root`, whom the server knows. Given
 * the bare text, the package takes `root` for the name of somebody without an address, and leaves them out silently.
 */
function mailboxesIn(text: string, read: (text: string, how: { flatten: true }) => Mailbox[]) {
  return read(text, { flatten: true })
    .map(({ name, address }) => (address === '' ? { name: '', address: name } : { name, address }))
    .filter(({ address }) => address !== '')
}

interface PlainContext {
  readonly sendCommand: (line: string) => Promise<{ readonly status: number }>
}

function authOf({ user, password, identity }: Login) {
  const pass = password.reveal()
  if (identity === undefined) return { auth: { user, pass } }
  const words = Buffer.from([identity, user, pass].join('\0')).toString('base64')
  const plain = async ({ sendCommand }: PlainContext) => {
    const { status } = await sendCommand(`AUTH PLAIN ${words}`)
    if (status !== 235) throw new Error('refused')
  }
  return {
    auth: { type: 'custom' as const, method: 'PLAIN', user, pass },
    customAuth: { PLAIN: plain },
    forceAuth: true,
  }
}

/** Codes alone: what the server said may repeat what it was sent. */
function judge(error: unknown): Delivery {
  const code = codeOf(error)
  const what = code === 'EAUTH' ? 'the mail server refused the user name or password' : `no mail was taken: ${code}`
  const answer = error instanceof Error && 'responseCode' in error ? error.responseCode : undefined
  if (typeof answer === 'number') return undelivered(`${what} (${answer})`, answer < 500)
  return undelivered(what, code !== 'EAUTH' && code !== 'EENVELOPE')
}
