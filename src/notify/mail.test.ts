import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startSmtp } from '../../test/support/smtp-server.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { request } from './fixture-request.ts'
import { sendMail } from './mail.ts'
import { composeMessage } from './message.ts'

/** A mail server that greets, and never says anything again. */
async function startSlowServer() {
  const open: Socket[] = []
  const heard: string[] = []
  const server = createServer((socket) => {
    open.push(socket)
    socket.on('data', (chunk: Buffer) => void heard.push(chunk.toString()))
    socket.on('error', () => undefined)
    socket.write('220 hello\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, open, heard }
}

function sendTo(port: number, clock: FakeClock, signal: AbortSignal, to = ['b@example.org']) {
  const mail = { host: '127.0.0.1', port, security: 'None' as const, from: 'a@example.org', to }
  const doors = { clock, readSecret: () => Promise.resolve('there is no Secret') }
  return sendMail(mail, composeMessage({}, request(), 'Drain'), doors, signal)
}

test.for([
  ['a name before it', ['B <b@example.org>'], ['b@example.org'], 'B <b@example.org>'],
  ['a name with a comma', ['"B, or not" <b@example.org>'], ['b@example.org'], '"B, or not" <b@example.org>'],
  ['a remark after it', ['b@example.org (B)'], ['b@example.org'], 'B <b@example.org>'],
  ['a name and no domain', ['Root <root>'], ['root'], 'Root <root>'],
  ['several in one text', ['b@example.org, root'], ['b@example.org', 'root'], 'b@example.org, <root>'],
  ['the same one twice', ['b@example.org', 'B <b@example.org>'], ['b@example.org'], 'b@example.org, B <b@example.org>'],
] as const)('a receiver with %s is told', async ([, to, told, header], context) => {
  const { port, mails } = await startSmtp(context)
  expect(await sendTo(port, new FakeClock(), new AbortController().signal, [...to])).toEqual({ isDelivered: true })
  expect(mails.map((mail) => mail.to)).toEqual([told])
  expect(mails[0]?.data).toContain(`\nTo: ${header}\n`)
})

test('a receiver who is nobody counts as refused', async (context) => {
  const { port, mails } = await startSmtp(context)
  const remark = 'the mail server refused 1 of 2 receivers'
  const sending = sendTo(port, new FakeClock(), new AbortController().signal, ['   ', 'b@example.org'])
  expect(await sending).toEqual({ isDelivered: true, remark })
  expect(mails.map(({ to }) => to)).toEqual([['b@example.org']])
})

test('a receiver with a line break is nobody, and the mail is not sent', async (context) => {
  const { port, heard } = await startSmtp(context)
  const to = ['b@example.org\r\nBcc: c@example.org']
  expect(await sendTo(port, new FakeClock(), new AbortController().signal, to)).toEqual({
    isDelivered: false,
    isWorthRetry: false,
    why: 'the sender or a receiver has a line break or another control character; write it anew',
  })
  expect(heard).toEqual([])
})

test('a mail server that is too slow is given up after ten seconds, and hung up on', async () => {
  const clock = new FakeClock()
  const { port, open, heard } = await startSlowServer()
  const sending = sendTo(port, clock, new AbortController().signal)
  await expect.poll(() => heard.join(), { timeout: 10_000 }).toContain('EHLO')
  await clock.advance(10_000)
  expect(await sending).toEqual({ isDelivered: false, isWorthRetry: true, why: 'no answer within 10 s' })
  await expect.poll(() => open[0]?.destroyed, { timeout: 10_000 }).toBe(true)
})

test('whoever sends mail stops when told to', async () => {
  const { port, open, heard } = await startSlowServer()
  const stop = new AbortController()
  const sending = sendTo(port, new FakeClock(), stop.signal)
  await expect.poll(() => heard.join(), { timeout: 10_000 }).toContain('EHLO')
  stop.abort(new Error('no longer leader'))
  await expect(sending).rejects.toThrow('no longer leader')
  await expect.poll(() => open[0]?.destroyed, { timeout: 10_000 }).toBe(true)
})

test.for([
  ['one of them is refused', '550', 'b@', 1, { isDelivered: true, remark: 'the mail server refused 1 of 2 receivers' }],
  ['one of them is refused for now', '450', 'b@', 1, { isDelivered: true }],
  ['all of them are refused', '550', '@', 0, { isDelivered: false, isWorthRetry: false }],
  ['all of them are refused for now', '450', '@', 0, { isDelivered: false, isWorthRetry: true }],
] as const)('to several receivers: %s', async ([, code, refused, count, expected], context) => {
  const RCPT = (line: string) => (line.includes(`${refused}example.org`) ? `${code} no ${line}` : '250 ok')
  const { port, mails } = await startSmtp(context, { answers: { RCPT } })
  const to = ['b@example.org', 'c@example.org']
  expect(await sendTo(port, new FakeClock(), new AbortController().signal, to)).toMatchObject(expected)
  expect(mails).toHaveLength(count)
})
