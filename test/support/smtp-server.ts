import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import type { Test } from './e2e-cluster.ts'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and text, as they came. */
  readonly data: string
  readonly isEncrypted: boolean
  /** Who it was that gave the right password. */
  readonly user: string | undefined
}

export interface SmtpOptions {
  /** Offers STARTTLS; with `isTlsFirst` it begins with TLS instead. */
  readonly certificate?: { readonly key: string; readonly cert: string }
  readonly isTlsFirst?: boolean
  /** Demands them. */
  readonly user?: string
  readonly password?: string
  /** Instead of what it would say, by the first word of a command. May repeat what it heard. */
  readonly answers?: Readonly<Record<string, (line: string) => string>>
}

/** The smallest mail server that a real client talks to: EHLO, STARTTLS, AUTH PLAIN, MAIL, RCPT, DATA, QUIT. */
export async function startSmtp(test: Test, options: SmtpOptions = {}) {
  const mails: ReceivedMail[] = []
  const heard: string[] = []
  const open = new Set<Socket>()
  const serve = (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    converse(socket, options, mails, heard)
  }
  const { certificate, isTlsFirst } = options
  const server: Server = certificate && isTlsFirst ? createTlsServer(certificate, serve) : createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  const address = server.address()
  return { port: address && typeof address === 'object' ? address.port : 0, mails, heard }
}

function converse(first: Socket, options: SmtpOptions, mails: ReceivedMail[], heard: string[]): void {
  let socket = first
  let buffer = ''
  let user: string | undefined
  let mail = { from: '', to: [] as string[] }
  let data: string[] | undefined
  const say = (text: string) => socket.write(`${text}\r\n`)
  const isEncrypted = () => socket instanceof TLSSocket

  const command = (line: string): string | undefined => {
    const [word = ''] = line.toUpperCase().split(' ', 1)
    const instead = options.answers?.[word]
    if (instead) return instead(line)
    switch (word) {
      case 'EHLO': {
        const offers = [
          ...(options.certificate && !isEncrypted() ? ['STARTTLS'] : []),
          ...(options.user && isEncrypted() ? ['AUTH PLAIN'] : []),
        ]
        return ['mail.example', ...offers]
          .map((text, at, all) => `250${at < all.length - 1 ? '-' : ' '}${text}`)
          .join('\r\n')
      }
      case 'STARTTLS':
        say('220 go on')
        encrypt()
        return undefined
      case 'AUTH': {
        const [, name, password] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
          .toString()
          .split('\0')
        if (name !== options.user || password !== options.password) return `535 no: ${name} ${password}`
        user = name
        return '235 welcome'
      }
      case 'MAIL':
        if (options.user && !user) return '530 who are you?'
        mail = { from: addressIn(line), to: [] }
        return '250 ok'
      case 'RCPT':
        mail.to.push(addressIn(line))
        return '250 ok'
      case 'DATA':
        data = []
        return '354 go on'
      case 'QUIT':
        return '221 bye'
      default:
        return '500 what?'
    }
  }

  const onLine = (line: string) => {
    if (data && line !== '.') data.push(line.replace(/^\./, ''))
    else if (data) {
      mails.push({ ...mail, data: data.join('\n'), isEncrypted: isEncrypted(), user })
      data = undefined
      say('250 taken')
    } else {
      heard.push(line)
      const answer = command(line)
      if (answer !== undefined) say(answer)
      if (line.toUpperCase() === 'QUIT') socket.end()
    }
  }

  const onData = (chunk: Buffer) => {
    buffer += chunk.toString()
    for (let end = buffer.indexOf('\r\n'); end >= 0; end = buffer.indexOf('\r\n')) {
      const line = buffer.slice(0, end)
      buffer = buffer.slice(end + 2)
      onLine(line)
    }
  }

  const encrypt = () => {
    socket.off('data', onData)
    socket = new TLSSocket(socket, { isServer: true, ...options.certificate })
    listen()
  }

  const listen = () => {
    socket.on('data', onData)
    // A client that goes away, or does not trust the certificate.
    socket.on('error', () => undefined)
  }
  listen()
  say('220 mail.example')
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? ''
}
