import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { type Notification, notifySecretName } from '../../src/api/index.ts'
import { certificateFolder, issueCertificates } from '../../src/dev/certificates.ts'
import { adminKubeconfig, controlPlaneProgram, places } from '../../src/dev/index.ts'
import { type KubeObject, resources, Secret } from '../../src/kube/index.ts'
import { request } from '../../src/notify/fixture-request.ts'
import { sendMail } from '../../src/notify/mail.ts'
import { composeMessage } from '../../src/notify/message.ts'
import { systemClock } from '../../src/time/index.ts'
import { eventually, type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import { startFettle } from '../support/fettle-process.ts'
import { occupy } from '../support/ports.ts'
import { createPdb, listOf, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'
import { type SmtpOptions, startSmtp } from '../support/smtp-server.ts'

useCrds()

/** In every value that is secret; it must not be found anywhere else. */
const canary = 'c4n4ry'

interface Heard {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: { readonly [field: string]: unknown }
}

/** A real receiver of webhooks. */
async function listen(test: Test, status = 200): Promise<{ readonly origin: string; readonly heard: Heard[] }> {
  const heard: Heard[] = []
  const server = createServer((asked, answer) => {
    const chunks: Buffer[] = []
    asked.on('data', (chunk: Buffer) => chunks.push(chunk))
    asked.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { authorization } = asked.headers
      heard.push({ path: asked.url ?? '', authorization, body: JSON.parse(text) as Heard['body'] })
      answer.writeHead(status).end(`${asked.url} ${authorization}`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard }
}

/** Where nobody listens any more. */
async function silentPort(): Promise<number> {
  const server = await occupy(0)
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function certificates(test: Test) {
  const folder = temporaryFolder(test)
  const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
  const [issued] = await issueCertificates({ folder }, program, [
    { name: 'mail', commonName: 'mail', ips: ['127.0.0.1'] },
  ])
  const authority = join(certificateFolder({ folder }), 'ca.crt')
  return { authority, certificate: { cert: issued?.certPem ?? '', key: issued?.keyPem ?? '' } }
}

async function storeSecret({ admin, namespace }: QueueGround, stringData: Readonly<Record<string, string>>) {
  const secret = { metadata: { name: notifySecretName, namespace }, stringData } as KubeObject
  await admin.create<KubeObject>(resources.secrets, secret)
}

/** The whole program, as a pod runs it. */
async function startController(
  context: TestContext,
  ground: QueueGround,
  { authority, until = 'leadership acquired' }: { readonly authority: string; readonly until?: string },
) {
  const controller = startFettle(
    [
      'controller',
      ...['--kubeconfig', adminKubeconfig(ground.record)],
      ...['--namespace', ground.namespace],
      ...['--lease-seconds', '5', '--http-port', '0', '--log-level', 'debug'],
    ],
    { deadlineMs: 300_000, env: { NODE_EXTRA_CA_CERTS: authority } },
  )
  context.onTestFinished(async () => {
    controller.signal('SIGKILL')
    await controller.finished
  })
  await controller.untilSaid(`"msg":"${until}"`)
  return controller
}

interface EventObject extends KubeObject {
  readonly note?: string
  readonly regarding?: { readonly uid?: string }
}

/** What is told about the budget of this test; the API server remembers those of others for an hour. */
async function budgetNotes(ground: QueueGround): Promise<string[]> {
  const { metadata } = await ground.budget()
  const events = await listOf<EventObject>(ground.admin, resources.events, { namespace: 'default' })
  return events.flatMap(({ note = '', regarding }) => (regarding?.uid === metadata.uid ? [note] : [])).sort(byText)
}

const byText = (one: string, other: string) => (one < other ? -1 : 1)

const mailTo = (port: number, more: Partial<NonNullable<Notification['mail']>> = {}) => ({
  host: '127.0.0.1',
  port,
  from: 'Fettle <fettle@example.org>',
  to: ['ops@example.org', 'night@example.org'],
  ...more,
})

test('Slack, mail and a webhook hear that a node leaves, returns, and needs a person', {
  timeout: 180_000,
}, async (context) => {
  const ground = await prepareQueue(context)
  const [node, stuck] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(stuck, { app: 'stuck', replicas: 1 })
  await createPdb(ground, 'none', 'stuck', { maxUnavailable: 0 })
  const { authority, certificate } = await certificates(context)
  const account = { user: 'fettle', password: `${canary} mäil` }
  const startTls = await startSmtp(context, { certificate, ...account })
  const tls = await startSmtp(context, { certificate, isTlsFirst: true })
  const [slack, board] = [await listen(context), await listen(context)]
  await storeSecret(ground, {
    'slack-hook': `${slack.origin}/services/${canary}\n`,
    'board-token': `${canary}-token`,
    'mail-password': account.password,
  })
  await ground.setBudget({
    max: 2,
    defaults: { drain: { deadline: '5s' } },
    notify: [
      {
        name: 'ops',
        slack: { urlSecretKey: 'slack-hook', channel: '#ops' },
        messages: { Drain: '{{if eq .Source "Person"}}*{{.Node}}* leaves: {{.Reason | printf "%q"}}{{end}}' },
      },
      {
        name: 'night',
        on: ['Held', 'Return'],
        mail: mailTo(startTls.port, {
          subject: '{{.Occasion}}: {{.Node}} ä',
          username: account.user,
          passwordSecretKey: 'mail-password',
        }),
      },
      { name: 'archive', on: ['Return'], mail: mailTo(tls.port, { security: 'TLS' }) },
      { name: 'board', webhook: { url: `${board.origin}/events`, tokenSecretKey: 'board-token' } },
    ],
  })
  const controller = await startController(context, ground, { authority })
  // It sees the same, and says nothing.
  const standby = await startController(context, ground, { authority, until: 'started' })

  const { metadata } = await ground.ask(node, { reason: 'new <fan>' })
  await ground.untilPhase(metadata.name, 'Granted')
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  const held = await ground.ask(stuck, { reason: 'new disk' })
  await ground.untilPhase(held.metadata.name, 'Held')

  const back = `${node}: the work was done and the node is back: new <fan> (${metadata.name})`
  await eventually(() => {
    expect(slack.heard.map(({ path, body }) => [path, body['channel'], body['text']])).toEqual(
      [
        `*${node}* leaves: "new &lt;fan&gt;"`,
        back.replace('<fan>', '&lt;fan&gt;'),
        `*${stuck}* leaves: "new disk"`,
        expect.stringContaining(`${stuck} needs a person: 1 pods did not leave within 5s`),
      ].map((text) => [`/services/${canary}`, '#ops', text]),
    )
    expect(startTls.mails).toHaveLength(2)
    expect(tls.mails).toHaveLength(1)
    expect(board.heard).toHaveLength(4)
  }, patient)
  expect(startTls.mails[0]).toMatchObject({
    from: 'fettle@example.org',
    to: ['ops@example.org', 'night@example.org'],
    isEncrypted: true,
    user: account.user,
  })
  const [first, second] = startTls.mails.map(({ data }) => data)
  expect(first).toMatch(/^Subject: =\?UTF-8\?Q\?Return=3A_q-/m)
  expect(first).toMatch(/^Date: /m)
  expect(first).toMatch(/^Message-ID: /m)
  expect(second).toContain('needs a person')
  expect(tls.mails[0]).toMatchObject({ isEncrypted: true, user: undefined })
  expect(tls.mails[0]?.data).toContain(`Subject: Fettle: ${node}: Return`)
  expect(board.heard.map(({ authorization }) => authorization)).toEqual(Array(4).fill(`Bearer ${canary}-token`))
  expect(board.heard.map(({ body }) => body['occasion'])).toEqual(['Drain', 'Return', 'Drain', 'Held'])
  expect(board.heard[1]?.body).toMatchObject({
    kind: 'Notification',
    text: back,
    node: { name: node },
    request: { name: metadata.name, uid: metadata.uid },
  })
  expect(await budgetNotes(ground)).toEqual([])
  expect(standby.said()).not.toContain('a notification')
  expect(controller.said() + standby.said()).not.toContain(canary)
})

test('whoever cannot be told is named in the log and on the budget, without secrets, and holds nothing up', {
  timeout: 180_000,
}, async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const { authority, certificate } = await certificates(context)
  const smtp = await startSmtp(context, { certificate, user: 'fettle', password: 'another' })
  const [echo, well] = [await listen(context, 403), await listen(context)]
  await storeSecret(ground, {
    hook: `${echo.origin}/${canary}`,
    nonsense: `${canary}://nowhere`,
    nobody: `http://127.0.0.1:${await silentPort()}/${canary}`,
    token: `${canary}-token`,
    password: `${canary}-password`,
  })
  const on = ['Drain']
  const mail = mailTo(smtp.port, { username: 'fettle', passwordSecretKey: 'password' })
  await ground.setBudget({
    notify: [
      { name: 'refused', on, slack: { urlSecretKey: 'hook' } },
      { name: 'echoed', on, webhook: { urlSecretKey: 'hook', tokenSecretKey: 'token' } },
      { name: 'nonsense', on, slack: { urlSecretKey: 'nonsense' } },
      { name: 'nobody', on, slack: { urlSecretKey: 'nobody' } },
      { name: 'forgotten', on, slack: { urlSecretKey: 'no-such-key' } },
      { name: 'password', on, mail },
      { name: 'template', on, webhook: { url: well.origin }, messages: { Drain: '{{.Node | upper}}' } },
    ],
  })
  const controller = await startController(context, ground, { authority })
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  await eventually(async () => {
    const about = `about ${metadata.name} was not sent:`
    expect(await budgetNotes(ground)).toEqual([
      expect.stringContaining('messages.Drain of notification template cannot be used: line 1, column 11: there is no'),
      `notification echoed ${about} answered 403`,
      `notification forgotten ${about} Secret ${ground.namespace}/${notifySecretName} has no key no-such-key`,
      `notification nobody ${about} it cannot be reached: ECONNREFUSED`,
      `notification nonsense ${about} key nonsense of the Secret is no address that begins with https:// or http://`,
      `notification password ${about} the mail server refused the user name or password (535)`,
      `notification refused ${about} answered 403`,
    ])
  }, patient)
  expect(well.heard.map(({ body }) => body['text'])).toEqual([expect.stringContaining(`${node} leaves service`)])
  expect(echo.heard.some(({ authorization }) => authorization?.includes(canary))).toBe(true)
  expect(smtp.heard.some((line) => line.startsWith('AUTH'))).toBe(true)
  expect(smtp.mails).toEqual([])

  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  controller.signal('SIGTERM')
  const { code, stdout, stderr } = await controller.finished
  expect(code).toBe(0)
  expect(stdout.match(/"msg":"a notification was not sent"/g)).toHaveLength(6)
  const everything = JSON.stringify([
    stdout,
    stderr,
    await listOf(ground.admin, resources.events),
    await ground.budget(),
  ])
  expect(everything).not.toContain(canary)
  expect(everything).not.toContain(Buffer.from(`\0fettle\0${canary}-password`).toString('base64'))
})

describe('mail', () => {
  const message = composeMessage({}, request(), 'Drain')
  const send = async (test: Test, options: SmtpOptions, mail: Partial<NonNullable<Notification['mail']>> = {}) => {
    const smtp = await startSmtp(test, options)
    const doors = { clock: systemClock, readSecret: () => Promise.resolve(new Secret(canary)) }
    const to = { ...mailTo(smtp.port), security: 'StartTLS' as const, ...mail }
    return { ...smtp, delivery: await sendMail(to, message, doors, new AbortController().signal) }
  }
  const account = { username: 'fettle', passwordSecretKey: 'password' }

  test('goes in the clear only if the budget says so, and then without a password', async (context) => {
    const { delivery, mails, heard } = await send(context, {}, { security: 'None', ...account })
    expect(delivery).toEqual({ isDelivered: true })
    expect(mails).toMatchObject([{ isEncrypted: false, user: undefined }])
    expect(heard.join()).not.toContain('AUTH')
  })

  test('does not go in the clear to a server that offers nothing better', async (context) => {
    const answers = { STARTTLS: () => '502 what?' }
    const { delivery, mails, heard } = await send(context, { answers }, account)
    expect(delivery).toMatchObject({ isDelivered: false, why: expect.stringContaining('no mail was taken: ETLS') })
    expect(mails).toEqual([])
    expect(heard.join()).not.toMatch(/AUTH|MAIL/)
  })

  test.for(['StartTLS', 'TLS'] as const)(
    'by %s does not go to a server that nobody vouches for',
    async (security, context) => {
      const { certificate } = await certificates(context)
      const { delivery, mails, heard } = await send(
        context,
        { certificate, isTlsFirst: security === 'TLS' },
        { security, ...account },
      )
      expect(delivery).toMatchObject({ isDelivered: false, isWorthRetry: true })
      expect(mails).toEqual([])
      expect(heard.join()).not.toMatch(/AUTH|MAIL/)
    },
  )

  test.for([
    ['for now', '451 later', true],
    ['for good', '550 never', false],
  ] as const)('that the server refuses %s is judged by its number alone', async ([, answer, isWorthRetry], context) => {
    const answers = { MAIL: (line: string) => `${answer} ${line} ${canary}` }
    const { delivery } = await send(context, { answers }, { security: 'None' })
    const why = `no mail was taken: EENVELOPE (${answer.slice(0, 3)})`
    expect(delivery).toEqual({ isDelivered: false, isWorthRetry, why })
  })

  test('that reaches a part of its receivers is told of', async (context) => {
    const answers = { RCPT: (line: string) => (line.includes('night') ? '550 no' : '250 ok') }
    const { delivery, mails } = await send(context, { answers }, { security: 'None' })
    expect(delivery).toEqual({ isDelivered: true, remark: 'the mail server refused 1 of 2 receivers' })
    expect(mails).toHaveLength(1)
  })
})
