import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Notification } from '../api/index.ts'
import type { Secret } from '../kube/index.ts'
import { codeOf, type Delivery, delivered, inTime, type SendDoors, undelivered } from './delivery.ts'
import type { Message } from './message.ts'

type Mail = NonNullable<Notification['mail']>

/** By SMTP, on a connection of its own, which is gone afterwards. */
export function sendMail(
  mail: Mail,
  message: Message,
  { clock, readSecret }: SendDoors,
  signal: AbortSignal,
): Promise<Delivery> {
  const send = async (within: AbortSignal): Promise<Delivery> => {
    const { passwordSecretKey } = mail
    const password = passwordSecretKey === undefined ? undefined : await readSecret(passwordSecretKey, within)
    if (typeof password === 'string') return undelivered(password, true)
    // Our own socket, because the package has no way to be stopped.
    const connection = connect({ host: mail.host, port: mail.port, signal: within })
    // For faults at a moment when nobody else listens.
    connection.on('error', () => undefined)
    try {
      await once(connection, 'connect')
      return await converse(mail, message, connection, password)
    } catch (error) {
      within.throwIfAborted()
      return judge(error)
    } finally {
      connection.destroy()
    }
  }
  return inTime(send, clock, signal)
}

async function converse(
  { host, port, security, from, to, username }: Mail,
  { subject, text }: Message,
  connection: Socket,
  password: Secret | undefined,
): Promise<Delivery> {
  const isProtected = security !== 'None'
  // Only who sends mail waits for it: every other start of the program is a tenth of a second shorter.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    connection,
    secure: security === 'TLS',
    // Never in the clear because somebody in between took the offer out.
    requireTLS: security === 'StartTLS',
    ignoreTLS: !isProtected,
    ...(isProtected && username !== undefined && password ? { auth: { user: username, pass: password.reveal() } } : {}),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const { rejected } = await transport.sendMail({ from, to: [...to], subject, text })
  if (rejected.length === 0) return delivered
  return undelivered(`the mail server refused ${rejected.length} of ${to.length} receivers`, false)
}

/** Codes alone: what the server said may repeat what it was sent. */
function judge(error: unknown): Delivery {
  const code = codeOf(error)
  const what = code === 'EAUTH' ? 'the mail server refused the user name or password' : `no mail was taken: ${code}`
  const answer = error instanceof Error && 'responseCode' in error ? error.responseCode : undefined
  if (typeof answer === 'number') return undelivered(`${what} (${answer})`, answer < 500)
  return undelivered(what, code !== 'EAUTH' && code !== 'EENVELOPE')
}
