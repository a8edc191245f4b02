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
  const { createTransport } = await import('nodemailer')
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
  const { rejected } = await transport.sendMail({ from, to: [...to], subject, text })
  if (rejected.length === 0) return delivered
  // The others have it, and would have it twice: nobody sends it again. If all are refused, the package throws.
  const remark = `the mail server refused ${rejected.length} of ${to.length} receivers`
  return { isDelivered: true, remark }
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
