import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
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

function sendTo(port: number, clock: FakeClock, signal: AbortSignal) {
  const mail = { host: '127.0.0.1', port, security: 'None' as const, from: 'a@example.org', to: ['b@example.org'] }
  const doors = { clock, readSecret: () => Promise.resolve('there is no Secret') }
  return sendMail(mail, composeMessage({}, request(), 'Drain'), doors, signal)
}

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
