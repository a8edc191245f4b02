import { expect, test } from 'vitest'
import { startSmtp } from '../../../../test/support/smtp-server.ts'
import { FakeClock } from '../../../time/fake-clock.ts'
import { createFor, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { canary, doorsOf, notifyContext } from './fixture-notify.ts'
import { mail } from './mail.ts'

const never = new AbortController().signal
const config = {
  from: 'From <from@example.org>',
  to: ['to1@example.org', 'to2@example.org'],
  subject: 'Sub {{.State}} ä',
  message: '{{.Node.Name}} ist müde\n.\nEnde',
}

const send = (more: object) =>
  createFor(mail, { ...config, ...more }).send(notifyContext(), doorsOf(new FakeClock()), never)

test('in the clear where the server offers nothing better, with the headers that people expect', async (context) => {
  const { port, mails } = await startSmtp(context)
  await send({ address: `127.0.0.1:${port}` })
  expect(mails).toHaveLength(1)
  const { data = '', ...envelope } = mails[0] ?? {}
  expect(envelope).toEqual({
    from: 'from@example.org',
    to: ['to1@example.org', 'to2@example.org'],
    isEncrypted: false,
    user: undefined,
  })
  const [head = '', ...body] = data.split('\n\n')
  expect(head).toMatch(/^From: From <from@example\.org>$/m)
  expect(head).toMatch(/^To: to1@example\.org, ?to2@example\.org$/m)
  // No template, and encoded for what is not ASCII.
  expect(head).toMatch(/^Subject: =\?UTF-8\?Q\?Sub_=7B=7B=2EState=7D=7D_=C3=A4\?=$/m)
  expect(head).toMatch(/^Date: \w{3}, \d{1,2} \w{3} \d{4} /m)
  expect(head).toMatch(/^Message-ID: <.+@example\.org>$/m)
  expect(head).toMatch(/^Content-Type: text\/plain; charset=utf-8$/m)
  expect(decoded(head, body.join('\n\n'))).toBe('node-7 ist müde\n.\nEnde')
})

function decoded(head: string, body: string): string {
  if (/^Content-Transfer-Encoding: base64$/m.test(head)) return Buffer.from(body, 'base64').toString().trimEnd()
  const bytes = body
    .replaceAll('=\n', '')
    .replaceAll(/=([\dA-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return Buffer.from(bytes, 'latin1').toString().trimEnd()
}

test('a line break in the subject begins no header', async (context) => {
  const { port, mails } = await startSmtp(context)
  await send({ address: `127.0.0.1:${port}`, subject: 'a\r\nBcc: x@example.org' })
  expect(mails[0]?.data).toMatch(/^Subject: a Bcc: x@example\.org$/m)
  expect(mails[0]?.to).toHaveLength(2)
})

test('who has no domain is told and named as the file says, because the mail server knows them', async (context) => {
  const { port, mails, heard } = await startSmtp(context)
  expect(await send({ address: `127.0.0.1:${port}`, from: 'maintenance', to: ['root', 'x@example.org'] })).toBe(
    undefined,
  )
  expect(heard).toEqual(
    expect.arrayContaining(['MAIL FROM:<maintenance>', 'RCPT TO:<root>', 'RCPT TO:<x@example.org>']),
  )
  expect(mails[0]?.data).toMatch(/^From: <maintenance>$/m)
  expect(mails[0]?.data).toMatch(/^To: <root>, x@example\.org$/m)
})

test('one alone who has no domain is told', async (context) => {
  const { port, mails } = await startSmtp(context)
  await send({ address: `127.0.0.1:${port}`, to: ['root'] })
  expect(mails.map(({ to }) => to)).toEqual([['root']])
})

test.for([
  ['From', 'from', { from: 'Ops <ops@example.org>\r\nBcc: x@example.org' }],
  ['To', 'to', { to: ['a@example.org', 'b@example.org\r\nBcc: x@example.org'] }],
  ['To with a tab', 'to', { to: ['a\t@example.org'] }],
] as const)(
  'a line break or another control character in %s is warned of, and nobody is told',
  async (row, context) => {
    const [, field, more] = row
    const { port, heard } = await startSmtp(context)
    const address = `127.0.0.1:${port}`
    expect(problemsFor(mail, { ...config, address, ...more })).toEqual([])
    expect(warningsFor(mail, { ...config, address, ...more })).toEqual([
      `${field}: no mail can be sent: it has a line break or another control character; write an address such as ops@example.org`,
    ])
    await expect(send({ address, ...more })).rejects.toMatchObject({
      code: 'NotSent',
      isWorthRetry: false,
      message: 'the sender or a receiver has a line break or another control character; write it anew',
    })
    expect(heard).toEqual([])
  },
)

test('PLAIN with an identity, to this very machine even without TLS', async (context) => {
  const { port, heard, mails } = await startSmtp(context, { answers: { AUTH: () => '235 welcome' } })
  await send({ address: `127.0.0.1:${port}`, auth: true, identity: 'me', user: 'u', password: canary })
  const words = Buffer.from(`me\0u\0${canary}`).toString('base64')
  expect(heard).toContain(`AUTH PLAIN ${words}`)
  expect(mails).toHaveLength(1)
})

test.for([
  [
    'a login that is refused',
    { AUTH: (line: string) => `535 no ${line}` },
    { auth: true },
    false,
    'the mail server refused the user name or password (535)',
  ],
  [
    'a login that is refused for now',
    { AUTH: (line: string) => `454 later ${line}` },
    { auth: true },
    true,
    'the mail server refused the user name or password (454)',
  ],
  ['a server without logins', {}, { auth: true }, false, 'the mail server refused the user name or password (535)'],
  ['a sender that is refused', { MAIL: () => `550 ${canary}` }, {}, false, 'no mail was taken: EENVELOPE (550)'],
  [
    'a receiver that is refused for now',
    { RCPT: () => `450 ${canary}` },
    {},
    true,
    'no mail was taken: EENVELOPE (450)',
  ],
  ['a text that is refused', { DATA: () => `554 ${canary}` }, {}, false, '(554)'],
] as const)('%s is told without a secret', async ([, answers, more, isWorthRetry, why], context) => {
  const { port, mails } = await startSmtp(context, { answers })
  const login = { user: 'u', password: canary }
  const error: unknown = await send({ address: `127.0.0.1:${port}`, ...login, ...more }).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'NotSent', isWorthRetry, message: expect.stringContaining(why) as string })
  expect(String(error)).not.toContain(canary)
  expect(String(error)).not.toContain(Buffer.from(`\0u\0${canary}`).toString('base64'))
  expect(mails).toEqual([])
})

test('one of two receivers that is refused is a remark, and no reason to send it again', async (context) => {
  const RCPT = (line: string) => (line.includes('to2@') ? `550 no ${line}` : '250 ok')
  const { port, mails } = await startSmtp(context, { answers: { RCPT } })
  expect(await send({ address: `127.0.0.1:${port}` })).toBe('the mail server refused 1 of 2 receivers')
  expect(mails).toHaveLength(1)
})

test('one that does not answer is given up after ten seconds', async (context) => {
  const { port, heard } = await startSmtp(context, { answers: { EHLO: () => '' } })
  const clock = new FakeClock()
  const notifier = createFor(mail, { ...config, address: `127.0.0.1:${port}` })
  const sending = notifier.send(notifyContext(), doorsOf(clock), never)
  const failing = expect(sending).rejects.toThrow('no answer within 10 s')
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThan(0)
  await clock.advance(10_000)
  await failing
})

test.for(['mail.example.org:587', 'mail.example.org:smtp', ':25'])('nothing is said against %s', (address) => {
  expect(problemsFor(mail, { ...config, address })).toEqual([])
  expect(warningsFor(mail, { ...config, address })).toEqual([])
})

test.for(['mail.example.org', 'mail.example.org:0', 'mail.example.org:99999', canary])(
  '%s is no mail server: the file loads with a warning, and no mail is sent',
  async (address) => {
    const why = 'it is no host with a port; write one such as mail.example.org:587'
    const login = { auth: true, user: 'u', password: canary }
    expect(problemsFor(mail, { ...config, ...login, address })).toEqual([])
    expect(warningsFor(mail, { ...config, ...login, address })).toEqual([`address: no mail can be sent: ${why}`])
    await expect(send({ ...login, address })).rejects.toMatchObject({
      code: 'NotSent',
      isWorthRetry: false,
      message: `no mail can be sent to the address: ${why}`,
    })
  },
)

test('an address without a host is this very machine', async (context) => {
  const { port, mails } = await startSmtp(context)
  await send({ address: `:${port}` })
  expect(mails).toHaveLength(1)
})

test('a template that cannot be read is found with the file; the subject is none', () => {
  const problems = problemsFor(mail, { ...config, address: 'a:1', subject: '{{', message: '{{' })
  expect(problems).toEqual([expect.stringContaining('message: the template cannot be read')])
})
