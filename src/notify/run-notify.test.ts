import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startSmtp } from '../../test/support/smtp-server.ts'
import type { MaintenanceBudget, MaintenanceRequest, Notification, Phase } from '../api/index.ts'
import type { CacheHandler, EventNote, KubeObject } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { request } from './fixture-request.ts'
import { NotifyCounts } from './notify-counts.ts'
import { runNotify } from './run-notify.ts'

const canary = 'c4n4ry'
/** Generous: the machine may be busy, and nothing here is about speed. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000 })

/** Somebody who is told, in this process. */
async function listen(reply: (answer: ServerResponse, said: string, asked: IncomingMessage) => void) {
  const heard: { readonly [field: string]: unknown }[] = []
  const server = createServer((asked, answer) => {
    let said = ''
    asked.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    asked.on('end', () => {
      heard.push(JSON.parse(said) as { readonly [field: string]: unknown })
      reply(answer, said, asked)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(close)
  return { close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${canary}`, heard }
}

const taken = (answer: ServerResponse) => void answer.end('ok')
const webhook = (name: string, url: string, more: Partial<Notification> = {}): Notification => ({
  name,
  on: ['Drain', 'Reboot', 'Return', 'Held'],
  webhook: { url },
  ...more,
})

/** Notifications on a world that a test moves by hand. */
function start(notify: Notification[], secret: Readonly<Record<string, string>> = {}) {
  const clock = new FakeClock()
  const counts = new NotifyCounts()
  const logged: string[] = []
  const events: EventNote[] = []
  const stop = new AbortController()
  let tell: CacheHandler<MaintenanceRequest> = () => undefined
  const log = (fields: object, message: string) => void logged.push(`${JSON.stringify(fields)} ${message}`)
  const budget = { metadata: { name: 'cluster', uid: 'b' }, spec: { notify } } as unknown as MaintenanceBudget
  const data = Object.fromEntries(
    Object.entries(secret).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )
  const ended = runNotify(
    {
      client: { get: <T extends KubeObject>() => Promise.resolve({ metadata: {}, data } as unknown as T) },
      views: {
        requests: {
          subscribe: (handler) => {
            tell = handler
            return () => undefined
          },
        },
        budgets: { get: () => budget },
      },
      ownNamespace: 'fettle-system',
      clock,
      random: () => 0,
      recorder: { record: (note) => void events.push(note) },
      log: { info: log, warn: log },
      counts,
    },
    stop.signal,
  )
  onTestFinished(() => stop.abort())
  return {
    clock,
    counts,
    logged,
    events,
    ended,
    stop: () => stop.abort(),
    tries: () => logged.filter((line) => line.endsWith('is tried again')).length,
    see: (object: MaintenanceRequest) => tell({ type: 'added', object }),
    enters: (phase: Phase, name = 'r', before: Phase = 'Queued') =>
      tell({ type: 'updated', old: request({ phase: before }, { name }), object: request({ phase }, { name }) }),
  }
}

const failed = (counts: NotifyCounts) => counts.all().filter(({ result, count }) => result === 'failed' && count > 0)

test('each is told what it asked for, in order, and the first sight of a request is nothing to tell', async () => {
  const [one, other] = [await listen(taken), await listen(taken)]
  const { see, enters, counts } = start([webhook('one', one.url), webhook('other', other.url, { on: ['Held'] })])
  see(request({ phase: 'Claimed' }))
  for (let count = 0; count < 20; count++) enters('Claimed', `r-${count}`)
  enters('Held')
  await eventually(() => [one.heard.length, other.heard.length]).toEqual([21, 1])
  expect(one.heard.map(({ request }) => (request as { readonly name: string }).name)).toEqual([
    ...Array.from({ length: 20 }, (_, count) => `r-${count}`),
    'r',
  ])
  expect(other.heard[0]).toMatchObject({ occasion: 'Held' })
  await eventually(() => counts.all()).toEqual([
    { notification: 'one', result: 'sent', count: 21 },
    { notification: 'one', result: 'failed', count: 0 },
    { notification: 'other', result: 'sent', count: 1 },
    { notification: 'other', result: 'failed', count: 0 },
  ])
})

test('whoever fails is tried three times with pauses, then named, and the next message has its turn', async () => {
  const down = await listen((answer, said) => void answer.writeHead(said.includes('"Drain"') ? 503 : 200).end(canary))
  const well = await listen(taken)
  const { enters, clock, events, logged, counts, tries } = start([webhook('down', down.url), webhook('well', well.url)])
  enters('Claimed')
  await eventually(() => well.heard.length).toBe(1)
  await eventually(() => down.heard.length).toBe(1)
  // What comes meanwhile waits its turn, and does not make the pause shorter.
  enters('Held')
  await eventually(() => well.heard.length).toBe(2)
  await eventually(tries).toBe(1)
  await clock.advance(999)
  expect(down.heard).toHaveLength(1)
  await clock.advance(1)
  await eventually(tries).toBe(2)
  await clock.advance(3_999)
  expect(down.heard).toHaveLength(2)
  await clock.advance(1)
  await eventually(() => events.length).toBe(1)
  await eventually(() => down.heard.length).toBe(4)
  expect(down.heard.map(({ occasion }) => occasion)).toEqual(['Drain', 'Drain', 'Drain', 'Held'])
  expect(down.heard[0]).toEqual(down.heard[2])
  expect(events).toEqual([
    {
      regarding: { apiVersion: 'fettle.dev/v1alpha1', kind: 'MaintenanceBudget', name: 'cluster', uid: 'b' },
      type: 'Warning',
      reason: 'NotificationFailed',
      action: 'Notify',
      note: 'notification down about r was not sent: answered 503',
    },
  ])
  await eventually(counts.all.bind(counts)).toContainEqual({ notification: 'down', result: 'sent', count: 1 })
  expect(failed(counts)).toEqual([{ notification: 'down', result: 'failed', count: 1 }])
  expect(JSON.stringify([logged, events])).not.toContain(canary)
})

test('whoever is refused for good is not tried again', async () => {
  const { url, heard } = await listen((answer) => void answer.writeHead(404).end())
  const { enters, events } = start([webhook('gone', url)])
  enters('Claimed')
  await eventually(() => events.map(({ note }) => note)).toEqual([
    'notification gone about r was not sent: answered 404',
  ])
  expect(heard).toHaveLength(1)
})

test('a mail that one of its receivers took was sent, and who reads events knows of the other', async (context) => {
  const RCPT = (line: string) => (line.includes('b@') ? `550 no ${canary}` : '250 ok')
  const { port, mails } = await startSmtp(context, { answers: { RCPT } })
  const to = ['a@example.org', 'b@example.org']
  const mail = { host: '127.0.0.1', port, security: 'None' as const, from: 'c@example.org', to }
  const { enters, events, counts } = start([{ name: 'on-call', on: ['Drain'], mail }])
  enters('Claimed')
  await eventually(() => events.map(({ note }) => note)).toEqual([
    'notification on-call about r did not reach everybody: the mail server refused 1 of 2 receivers',
  ])
  expect([mails.length, failed(counts)]).toEqual([1, []])
})

test('whoever does not answer is given up after ten seconds, and holds up no other meanwhile', async () => {
  const silent = await listen(() => undefined)
  const well = await listen(taken)
  const silentOnes = Array.from({ length: 7 }, (_, index) => webhook(`silent-${index}`, silent.url))
  const { enters, clock, events, tries } = start([...silentOnes, webhook('well', well.url)])
  enters('Claimed')
  enters('Held')
  await eventually(() => well.heard.length).toBe(2)
  await eventually(() => silent.heard.length).toBe(7)
  for (const [count, pauseMs] of [1_000, 4_000].entries()) {
    await clock.advance(10_000)
    await eventually(tries).toBe(7 * (count + 1))
    await clock.advance(pauseMs)
    await eventually(() => silent.heard.length).toBe(7 * (count + 2))
  }
  await clock.advance(9_999)
  expect(events).toEqual([])
  await clock.advance(1)
  await eventually(() => events.length).toBe(7)
  expect(events[0]?.note).toBe('notification silent-0 about r was not sent: no answer within 10 s')
})

test('at most eight are under way', async () => {
  const open: ServerResponse[] = []
  const { url, heard } = await listen((answer) => void open.push(answer))
  const { enters } = start(Array.from({ length: 16 }, (_, index) => webhook(`n-${index}`, url)))
  enters('Claimed')
  await eventually(() => open.length).toBe(8)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(heard).toHaveLength(8)
  for (const answer of open.splice(0)) answer.end()
  await eventually(() => heard.length).toBe(16)
  for (const answer of open) answer.end()
})

test('when a hundred wait for one that takes none, the others are given up at once', async () => {
  const { url } = await listen(() => undefined)
  const { enters, events } = start([webhook('silent', url)])
  for (let count = 0; count < 103; count++) enters('Claimed', `r-${count}`)
  await eventually(() => events.map(({ note }) => note)).toEqual(
    [100, 101, 102].map(
      (count) => `notification silent about r-${count} was not sent: 100 messages wait for it already`,
    ),
  )
})

test('a template that cannot be used is named once, and the default text is sent each time', async () => {
  const { url, heard } = await listen(taken)
  const { enters, events } = start([webhook('board', url, { messages: { Held: '{{upper .Node}}' } })])
  for (let count = 0; count < 3; count++) enters('Held')
  await eventually(() => heard.length).toBe(3)
  for (const { text } of heard) expect(text).toContain('node-7 needs a person')
  expect(events).toHaveLength(1)
  expect(events[0]).toMatchObject({
    reason: 'NotificationTemplate',
    note: expect.stringContaining(
      'messages.Held of notification board cannot be used: line 1, column 3: there is no function upper',
    ),
  })
})

test('Slack gets its text, a bearer gets its token, and what is not in the Secret is named', async () => {
  const slack = await listen(taken)
  const tokens: unknown[] = []
  const board = await listen((answer, _said, { headers }) => {
    tokens.push(headers.authorization)
    answer.end()
  })
  const on: Notification['on'] = ['Drain']
  const { enters, events, clock } = start(
    [
      { name: 'slack', on, slack: { urlSecretKey: 'hook', channel: '#ops' }, messages: { Drain: 'bye {{.Node}}' } },
      { name: 'board', on, webhook: { urlSecretKey: 'board', tokenSecretKey: 'token' } },
      { name: 'none', on, slack: { urlSecretKey: 'nowhere' } },
    ],
    { hook: `${slack.url}\n`, board: board.url, token: canary },
  )
  enters('Claimed')
  await eventually(() => slack.heard).toEqual([{ text: 'bye node-7', channel: '#ops' }])
  await eventually(() => tokens).toEqual([`Bearer ${canary}`])
  for (const pauseMs of [1_000, 4_000]) await clock.advance(pauseMs)
  await eventually(() => events.map(({ note }) => note)).toEqual([
    'notification none about r was not sent: Secret fettle-system/fettle-notify has no key nowhere',
  ])
})

test.each([
  ['no address', { url: canary }, 'key url of the Secret is no address that begins with https:// or http://'],
  ['an address of a file', { url: `file:///${canary}` }, 'key url of the Secret is no address'],
  ['an address with a password', { url: `http://u:${canary}@127.0.0.1/` }, 'key url of the Secret is no address'],
  ['a port of mail servers', { url: `http://127.0.0.1:25/${canary}` }, 'it cannot be reached: bad port'],
  ['a host that there is not', { url: `http://${canary}.invalid/` }, 'it cannot be reached: E'],
  ['a token of two lines', { token: `${canary}\nx` }, 'the token has characters that no header can hold'],
  ['a server that repeats all it hears', {}, 'answered 400'],
  [
    'a server that sends it elsewhere',
    { path: 'elsewhere' },
    'answered 307, and redirects are not followed; write the address that it points to as key url of the Secret',
  ],
])('%s fails without a word of what is secret', async (_what, secret: Record<string, string>, why) => {
  const echo = await listen((answer, said, { url, headers }) => {
    const isElsewhere = url?.endsWith('elsewhere') ?? false
    answer
      .writeHead(isElsewhere ? 307 : 400, canary, { location: `/${canary}` })
      .end(`${said}${url}${headers.authorization}`)
  })
  const { path = '', url = `${echo.url}/${path}`, token = canary } = secret
  const hook = { urlSecretKey: 'url', tokenSecretKey: 'token' }
  const { enters, events, logged, clock } = start([{ name: 'board', on: ['Drain'], webhook: hook }], { url, token })
  enters('Claimed')
  await eventually(async () => {
    await clock.advance(4_000)
    return events[0]?.note
  }).toContain(`notification board about r was not sent: ${why}`)
  expect(JSON.stringify([events, logged])).not.toContain(canary)
})

test('an end drops what waits, and says how much', async () => {
  const { url, heard, close } = await listen(() => undefined)
  const { enters, stop, ended, logged } = start([webhook('silent', url)])
  enters('Claimed')
  enters('Held')
  await eventually(() => heard.length).toBe(1)
  stop()
  close()
  await ended
  expect(logged.at(-1)).toContain('{"unsent":2} notifications were not sent')
})
