import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { certificateFolder, issueCertificates } from '../../src/dev/certificates.ts'
import { controlPlaneProgram, places } from '../../src/dev/index.ts'
import { type Lease, resources } from '../../src/kube/index.ts'
import { createFor } from '../../src/profiles/fixture-pass.ts'
import { canary, doorsOf, notifyContext } from '../../src/profiles/plugins/notify/fixture-notify.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { slack } from '../../src/profiles/plugins/notify/slack.ts'
import { slackThread } from '../../src/profiles/plugins/notify/slack-thread.ts'
import { systemClock } from '../../src/time/index.ts'
import { type Ground, prepareGround, type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import { type SmtpOptions, startSmtp } from '../support/smtp-server.ts'

const repository = resolve(import.meta.dirname, '../..')
const never = new AbortController().signal

describe('mail', () => {
  const account = { user: 'fettle', password: `${canary} mäil` }

  async function certificates(test: Test) {
    const folder = temporaryFolder(test)
    const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
    const [issued] = await issueCertificates({ folder }, program, [
      { name: 'mail', commonName: 'mail', ips: ['127.0.0.1'] },
    ])
    const authority = join(certificateFolder({ folder }), 'ca.crt')
    return { authority, certificate: { cert: issued?.certPem ?? '', key: issued?.keyPem ?? '' } }
  }

  /** In a process of its own, because whom Node trusts is settled when it starts. */
  async function send(config: object, authority: string | undefined): Promise<string> {
    const source = (path: string) => JSON.stringify(pathToFileURL(join(repository, 'src', path)).href)
    const program = `
      import { createFor } from ${source('profiles/fixture-pass.ts')}
      import { doorsOf, notifyContext } from ${source('profiles/plugins/notify/fixture-notify.ts')}
      import { mail } from ${source('profiles/plugins/notify/mail.ts')}
      import { systemClock } from ${source('time/index.ts')}
      const notifier = createFor(mail, JSON.parse(process.env.MAIL_CONFIG))
      try {
        await notifier.send(notifyContext(), doorsOf(systemClock), new AbortController().signal)
        console.log('sent')
      } catch (error) {
        console.log(String(error), JSON.stringify(error), notifier)
      }`
    const { stdout } = await execa(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      cwd: repository,
      env: { MAIL_CONFIG: JSON.stringify(config), ...(authority ? { NODE_EXTRA_CA_CERTS: authority } : {}) },
    })
    return stdout
  }

  const config = (port: number) => ({
    address: `127.0.0.1:${port}`,
    from: 'Fettle <fettle@example.org>',
    to: ['ops@example.org', 'night@example.org'],
    subject: 'maintenance',
    message: '{{.Node.Name}} is {{.State}}',
    auth: true,
    ...account,
  })

  test('takes the TLS that is offered, logs in, and is received', async (context) => {
    const { authority, certificate } = await certificates(context)
    const { port, mails } = await startSmtp(context, { certificate, ...account })
    expect(await send(config(port), authority)).toBe('sent')
    expect(mails).toMatchObject([
      {
        from: 'fettle@example.org',
        to: ['ops@example.org', 'night@example.org'],
        isEncrypted: true,
        user: account.user,
        data: expect.stringContaining('node-7 is maintenance-required') as string,
      },
    ])
  })

  test.for([
    ['a certificate that nobody vouches for', {}, account.password, 'no mail was taken: ESOCKET'],
    ['a wrong password', { isTrusted: true }, `${canary} wrong`, 'refused the user name or password (535)'],
    [
      'a server that repeats what it heard',
      { isTrusted: true, answers: { AUTH: (line: string) => `535 ${line}` } },
      account.password,
      'refused the user name or password (535)',
    ],
  ] as const)('%s is told without a secret', async ([, how, password, why], context) => {
    const { authority, certificate } = await certificates(context)
    const { isTrusted, ...options } = how as { readonly isTrusted?: true } & SmtpOptions
    const { port, mails } = await startSmtp(context, { certificate, ...account, ...options })
    const said = await send({ ...config(port), password }, isTrusted ? authority : undefined)
    expect(said).toContain(why)
    expect(said).not.toContain(canary)
    expect(said).not.toContain(Buffer.from(`\0fettle\0${password}`).toString('base64'))
    expect(mails).toEqual([])
  })
})

describe('slackThread', () => {
  const leaseOf = ({ admin, namespace }: Ground) => admin.get<Lease>(resources.leases, { name: 'thread', namespace })

  async function setUp(context: Test, period = 3_600_000) {
    const ground = await prepareGround(context)
    const server = await startSlack(context)
    const make = () =>
      createFor(slackThread, {
        token: `xoxb-${canary}`,
        channel: '#ops',
        title: 'Nodes of {{.Profile}}',
        message: '{{.Node.Name}} is {{.State}}',
        leaseName: 'thread',
        leaseNamespace: ground.namespace,
        period,
        apiURL: `${server.origin}/api`,
      })
    const notifier = make()
    const send = (by = notifier) => by.send(notifyContext(), doorsOf(systemClock, ground.admin), never)
    const threads = () => server.heard.map(({ body }) => body.thread_ts)
    return { ground, send, make, threads, ...server }
  }

  test('a title, and answers in its thread for as long as its Lease says', async (context) => {
    const { ground, send, threads, heard } = await setUp(context)
    await send()
    await send()
    const ts = heard[0]?.ts
    expect(threads()).toEqual([undefined, ts, ts])
    const { spec } = await leaseOf(ground)
    expect(spec).toMatchObject({ holderIdentity: ts, leaseDurationSeconds: 3_600 })
    expect(spec?.acquireTime).toBe(spec?.renewTime)
    expect(Math.abs(Date.parse(spec?.renewTime ?? '') - Date.now())).toBeLessThan(60_000)
  })

  test('a new thread when the time of the first is over', async (context) => {
    const { ground, send, threads, heard } = await setUp(context, 1_000)
    await send()
    await sleep(1_100)
    await send()
    expect(threads()).toEqual([undefined, heard[0]?.ts, undefined, heard[2]?.ts])
    expect((await leaseOf(ground)).spec).toMatchObject({ holderIdentity: heard[2]?.ts, leaseDurationSeconds: 1 })
  })

  test('of two controllers at once one has the thread, and all later messages go there', async (context) => {
    const { ground, send, make, threads, heard } = await setUp(context)
    const others = [make(), make()]
    await Promise.all(others.map((one) => send(one)))
    const { spec } = await leaseOf(ground)
    const titles = heard.filter(({ body }) => body.thread_ts === undefined)
    expect(titles.map(({ ts }) => ts)).toContain(spec?.holderIdentity)
    const before = heard.length
    await Promise.all([...others, ...others].map((one) => send(one)))
    expect(threads().slice(before)).toEqual(Array(4).fill(spec?.holderIdentity))
    // Both answers are in the thread of the Lease, also that of whoever lost.
    expect(
      threads()
        .slice(0, before)
        .filter((one) => one === spec?.holderIdentity),
    ).toHaveLength(2)
  })

  test.for([
    ['hangs', 'hang', 'no answer within 10 s'],
    ['is in trouble', { status: 500, body: canary }, 'answered 500'],
    ['has enough', { status: 429, body: canary }, 'answered 429'],
    ['says no', { body: '{"ok":false,"error":"not_in_channel"}' }, 'Slack said not_in_channel: invite the app'],
    ['repeats the token', { body: `{"ok":false,"error":"xoxb-${canary}"}` }, 'did not say why'],
  ] as const)('Slack %s: nothing is noted, and the next try begins the thread', async ([, fault, why], context) => {
    const { ground, send, faults, threads, heard } = await setUp(context)
    faults.push(fault)
    const error: unknown = await send().catch((thrown: unknown) => thrown)
    expect(String(error)).toContain(why)
    expect(String(error)).not.toContain(canary)
    await expect(leaseOf(ground)).rejects.toMatchObject({ code: 'NotFound' })
    await send()
    expect(threads()).toEqual([undefined, undefined, heard[1]?.ts])
  })

  test('a Lease of the original that has run out is taken over, whatever else it holds', async (context) => {
    const { ground, send, threads, heard } = await setUp(context)
    const { admin, namespace } = ground
    await admin.create<Lease>(resources.leases, {
      metadata: { name: 'thread', namespace, labels: { keep: 'me' } },
      spec: {
        holderIdentity: '1.1',
        acquireTime: '2024-01-02T03:04:05.000006Z',
        renewTime: '2024-01-02T03:04:05.000006Z',
        leaseDurationSeconds: 10,
      },
    })
    await send()
    expect(threads()).toEqual([undefined, heard[0]?.ts])
    const { metadata, spec } = await leaseOf(ground)
    expect(metadata.labels).toEqual({ keep: 'me' })
    expect(spec).toMatchObject({ holderIdentity: heard[0]?.ts, acquireTime: '2024-01-02T03:04:05.000006Z' })
  })
})

test.for([
  ['hangs', 'hang', 'no answer within 10 s'],
  ['is in trouble', { status: 500, body: 'ok' }, 'answered 500'],
  ['has enough', { status: 429, body: 'ok' }, 'answered 429'],
  ['says something else', { body: `not ok ${canary}` }, 'not the ok of Slack'],
] as const)('slack: a hook that %s is told, and takes the next message', async ([, fault, why], context) => {
  const { origin, faults, heard } = await startSlack(context)
  const hook = `${origin}/services/${canary}`
  const notifier = createFor(slack, { hook, channel: '#ops', message: '{{.Node.Name}}' })
  const send = () => notifier.send(notifyContext(), doorsOf(systemClock), never)
  faults.push(fault)
  const error: unknown = await send().catch((thrown: unknown) => thrown)
  expect(String(error)).toContain(why)
  expect(String(error)).not.toContain(canary)
  await send()
  expect(heard.map(({ body }) => body)).toEqual(Array(2).fill({ channel: '#ops', text: 'node-7' }))
})
