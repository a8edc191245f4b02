import { expect, test } from 'vitest'
import { ApiError, type KubeClient, type Lease } from '../../../kube/index.ts'
import { FakeClock } from '../../../time/fake-clock.ts'
import { createFor, noon, problemsFor } from '../../fixture-pass.ts'
import { canary, doorsOf, notifyContext } from './fixture-notify.ts'
import { startSlack } from './fixture-slack.ts'
import { slackThread } from './slack-thread.ts'

const never = new AbortController().signal
const config = {
  token: `xoxb-${canary}`,
  channel: '#ops',
  title: 'Today: {{.Profile}}',
  message: '{{.Node.Name}} {{index .Node.Labels "team"}}',
  leaseName: 'thread',
  leaseNamespace: 'ops',
  period: 3_600_000,
}

const failure = (code: 'NotFound' | 'Conflict' | 'AlreadyExists' | 'Forbidden') =>
  new ApiError({ code, method: 'GET', path: '/', seen: 'no' })

/** One Lease, kept as the API server does. */
function leaseStore(first?: Lease['spec']) {
  const store: { lease: Lease | undefined; before?: () => void } = {
    lease: first && { metadata: { name: 'thread', namespace: 'ops', resourceVersion: '1' }, spec: first },
  }
  const client = {
    get: () => (store.lease ? Promise.resolve(store.lease) : Promise.reject(failure('NotFound'))),
    create(_: unknown, lease: Lease) {
      store.before?.()
      if (store.lease) return Promise.reject(failure('AlreadyExists'))
      store.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: '1' } }
      return Promise.resolve(store.lease)
    },
    patch(_: unknown, __: unknown, { body }: { readonly body: object }) {
      store.before?.()
      const { metadata, spec } = body as Lease
      if (metadata.resourceVersion !== store.lease?.metadata.resourceVersion) return Promise.reject(failure('Conflict'))
      const resourceVersion = `${Number(metadata.resourceVersion) + 1}`
      store.lease = { metadata: { ...metadata, resourceVersion }, spec: { ...store.lease?.spec, ...spec } }
      return Promise.resolve(store.lease)
    },
  } as unknown as Pick<KubeClient, 'get' | 'create' | 'patch'>
  return { store, client }
}

const at = (ms: number) => new Date(ms).toISOString().replace('Z', '000Z')

async function setUp(
  context: Parameters<typeof startSlack>[0],
  { lease, ...more }: Partial<Parameters<typeof slackThread.create>[0]> & { readonly lease?: Lease['spec'] } = {},
) {
  const slack = await startSlack(context)
  const clock = new FakeClock(noon)
  const { store, client } = leaseStore(lease)
  const make = () => createFor(slackThread, { ...config, apiURL: `${slack.origin}/api/`, ...more })
  const notifier = make()
  const send = (by = notifier) => by.send(notifyContext(), doorsOf(clock, client), never)
  const said = () => slack.heard.map(({ body: { text, thread_ts } }) => [text, thread_ts])
  return { ...slack, clock, store, send, said, make }
}

const answer = 'node-7 a &lt;b&gt; &amp; c'

test('the first message begins a thread, answers in it, and notes it in a Lease', async (context) => {
  const { send, said, heard, store } = await setUp(context)
  await send()
  const [title] = heard
  expect(said()).toEqual([
    ['Today: flatcar', undefined],
    [answer, title?.ts],
  ])
  expect(heard[0]).toMatchObject({
    path: '/api/chat.postMessage',
    authorization: `Bearer xoxb-${canary}`,
    body: { channel: '#ops' },
  })
  expect(store.lease).toMatchObject({
    metadata: { name: 'thread', namespace: 'ops' },
    spec: { holderIdentity: title?.ts, acquireTime: at(noon), renewTime: at(noon), leaseDurationSeconds: 3_600 },
  })
})

test('within the period all messages are in one thread, and do not make it last longer', async (context) => {
  const { send, said, heard, clock, store } = await setUp(context)
  await send()
  await clock.advance(3_600_000)
  await send()
  const ts = heard[0]?.ts
  expect(said().map(([, thread]) => thread)).toEqual([undefined, ts, ts])
  expect(store.lease?.spec?.renewTime).toBe(at(noon))
})

test('after the period a new thread begins', async (context) => {
  const { send, said, heard, clock, store } = await setUp(context, { period: 1_000 })
  await send()
  await clock.advance(1_100)
  await send()
  expect(said().map(([, thread]) => thread)).toEqual([undefined, heard[0]?.ts, undefined, heard[2]?.ts])
  expect(store.lease?.spec).toEqual({
    holderIdentity: heard[2]?.ts,
    acquireTime: at(noon),
    renewTime: at(noon + 1_100),
    leaseDurationSeconds: 1,
  })
})

test.for([
  ['the original wrote it', { holderIdentity: '1.5', renewTime: at(noon - 9_000), leaseDurationSeconds: 10 }, ['1.5']],
  ['it is exactly over', { holderIdentity: '1.5', renewTime: at(noon - 10_000), leaseDurationSeconds: 10 }, ['1.5']],
  ['it is over', { holderIdentity: '1.5', renewTime: at(noon - 10_001), leaseDurationSeconds: 10 }, [undefined, 'new']],
  ['it has no time', { holderIdentity: '1.5', leaseDurationSeconds: 10 }, [undefined, 'new']],
  ['it has no duration', { holderIdentity: '1.5', renewTime: at(noon - 1) }, [undefined, 'new']],
  ['it is empty', {}, [undefined, 'new']],
] as const)('a Lease that is there already: %s', async ([, lease, threads], context) => {
  const { send, said, heard } = await setUp(context, { lease })
  await send()
  expect(said().map(([, thread]) => thread)).toEqual(threads.map((one) => (one === 'new' ? heard[0]?.ts : one)))
})

test('a Lease that names no thread is told', async (context) => {
  const { send, heard } = await setUp(context, { lease: { renewTime: at(noon), leaseDurationSeconds: 10 } })
  await expect(send()).rejects.toThrow('Lease ops/thread names no thread in holderIdentity; delete it')
  expect(heard).toEqual([])
})

test('marks count if they are asked for', async (context) => {
  const { send, said } = await setUp(context, { raw: true })
  await send()
  expect(said()[1]?.[0]).toBe('node-7 a <b> & c')
})

test('what fails after the title is tried again in the same thread, not in another one', async (context) => {
  const { send, said, heard, faults, store } = await setUp(context)
  // The lease is stored between the two posts: from then on every post fails once.
  store.before = () => faults.push({ status: 500, body: '' })
  await expect(send()).rejects.toThrow('answered 500')
  await send()
  expect(said().map(([, thread]) => thread)).toEqual([undefined, heard[0]?.ts, heard[0]?.ts])
})

test('many nodes at once share one thread', async (context) => {
  const { send, said, heard } = await setUp(context)
  await Promise.all(Array.from({ length: 10 }, () => send()))
  expect(said().map(([, thread]) => thread)).toEqual([undefined, ...Array<string | undefined>(10).fill(heard[0]?.ts)])
})

test.for([
  ['created', undefined],
  ['renewed', { holderIdentity: '0.1', renewTime: at(noon - 60_000), leaseDurationSeconds: 1 }],
] as const)('whoever is second to have the Lease %s goes on in the thread of the first', async ([, lease], context) => {
  const { send, said, store } = await setUp(context, lease ? { lease } : {})
  store.before = () => {
    const spec = { holderIdentity: '7.7', renewTime: at(noon), leaseDurationSeconds: 60 }
    store.lease = { metadata: { name: 'thread', namespace: 'ops', resourceVersion: '9' }, spec }
  }
  await send()
  expect(said().map(([, thread]) => thread)).toEqual([undefined, '7.7'])
})

test('one that fails does not hold up those behind it', async (context) => {
  const { send, faults, said } = await setUp(context)
  faults.push({ status: 500, body: '' })
  const results = await Promise.allSettled([send(), send()])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(said()).toHaveLength(3)
})

test.for([
  ['{"ok":false,"error":"channel_not_found"}', 200, false, 'Slack said channel_not_found: look at channel'],
  ['{"ok":false,"error":"ratelimited"}', 200, true, 'Slack said ratelimited'],
  [`{"ok":false,"error":"xoxb-${canary}"}`, 200, true, 'did not say why in words that are known here'],
  ['{"ok":false,"error":"toString"}', 200, true, 'did not say why in words that are known here'],
  ['{"ok":true}', 200, true, 'did not say why'],
  [`<html>${canary}`, 200, true, 'did not say why'],
  ['null', 200, true, 'did not say why'],
  ['', 429, true, 'answered 429'],
  ['', 503, true, 'answered 503'],
] as const)('%s (%d) is no delivery, and holds no secret', async ([body, status, isWorthRetry, why], context) => {
  const { send, faults, store } = await setUp(context)
  faults.push({ body, status })
  const error: unknown = await send().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'NotSent', isWorthRetry, message: expect.stringContaining(why) as string })
  expect(String(error)).not.toContain(canary)
  expect(store.lease).toBeUndefined()
})

test('one that hangs is given up after ten seconds', async (context) => {
  const { send, faults, heard, clock } = await setUp(context)
  faults.push('hang')
  const sending = send()
  const failing = expect(sending).rejects.toThrow('no answer within 10 s')
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(1)
  await clock.advance(10_000)
  await failing
})

test('a token that no header can hold is not shown', async (context) => {
  const { send, heard } = await setUp(context, { token: `${canary}\n` })
  const error: unknown = await send().catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('the token has characters that no header can hold')
  expect(String(error)).not.toContain(canary)
  expect(heard).toEqual([])
})

test('both templates and the address are checked with the file', () => {
  const problems = problemsFor(slackThread, { ...config, title: '{{', message: '{{end}}', apiURL: 'slack.com' })
  expect(problems.map((text) => text.split(':')[0])).toEqual(['title', 'message', 'apiURL'])
  expect(problemsFor(slackThread, config)).toEqual([])
})

test('all but raw and apiURL must be said', () => {
  const free = Object.entries(slackThread.fields).flatMap(([name, { isRequired }]) => (isRequired ? [] : [name]))
  expect(free).toEqual(['raw', 'apiURL'])
})
