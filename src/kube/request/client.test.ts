import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { fixedCredential } from '../config/credentials.ts'
import { Secret } from '../config/secret.ts'
import { ApiError } from '../errors.ts'
import { deployments, nodes, pods } from '../resources.ts'
import { type ClientOptions, type ConnectedClient, connect } from './client.ts'
import { json, plain, type Reply, refusal, reset, type ScriptedServer, scriptedServer } from './scripted-server.ts'

const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'u1', resourceVersion: '5' } }
const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})

async function play(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  const server = await scriptedServer(...replies)
  const client = connect(server.config, { component: 'test', version: '1.2.3', random: () => 0, ...options })
  cleanups.push(
    () => client.close(),
    () => server.close(),
  )
  return { server, client }
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (caught: unknown) => caught,
  )
  if (!(error instanceof ApiError)) throw error
  return error
}

describe('requests', () => {
  it('get one object and say who asks', async () => {
    const { server, client } = await play([json(200, node)])
    await expect(client.get(nodes, { name: 'n1' })).resolves.toEqual(node)
    expect(server.seen[0]?.path).toBe('/api/v1/nodes/n1')
    expect(server.seen[0]?.headers['user-agent']).toBe('fettle/1.2.3 (test)')
  })

  it('send impersonation with every extra value', async () => {
    const server = await scriptedServer(json(200, node))
    const impersonate = { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { 'Example.com/Scope': ['x', 'y'] } }
    const client = connect({ ...server.config, impersonate }, { component: 'test' })
    cleanups.push(
      () => client.close(),
      () => server.close(),
    )
    await client.get(nodes, { name: 'n1' })
    expect(server.seen[0]?.headers).toMatchObject({
      'impersonate-user': 'jane',
      'impersonate-uid': '7',
      'impersonate-group': 'a, b',
      'impersonate-extra-example.com%2fscope': 'x, y',
    })
  })

  it('page through a list with continue tokens', async () => {
    const { server, client } = await play([
      json(200, { metadata: { resourceVersion: '9', continue: 'next', remainingItemCount: 1 }, items: [node] }),
      json(200, { metadata: { resourceVersion: '9' }, items: null }),
    ])
    const sizes: number[] = []
    for await (const page of client.list(nodes, { labelSelector: 'a=b', pageSize: 1, resourceVersion: '0' })) {
      sizes.push(page.items.length)
    }
    expect(sizes).toEqual([1, 0])
    expect(server.seen.map((request) => request.query.toString())).toEqual([
      'limit=1&labelSelector=a%3Db&resourceVersion=0',
      'limit=1&labelSelector=a%3Db&continue=next',
    ])
  })

  it('patch with the content type of each kind of patch', async () => {
    const { server, client } = await play([json(200, node)])
    await client.patch(nodes, { name: 'n1' }, { type: 'merge', body: { spec: {} } })
    await client.patch(nodes, { name: 'n1' }, { type: 'strategic', body: {} }, { subresource: 'status' })
    await client.patch(nodes, { name: 'n1' }, { type: 'json', body: [{ op: 'remove', path: '/x' }] }, { dryRun: true })
    expect(
      server.seen.map((request) => [request.headers['content-type'], request.path, request.query.get('dryRun')]),
    ).toEqual([
      ['application/merge-patch+json', '/api/v1/nodes/n1', null],
      ['application/strategic-merge-patch+json', '/api/v1/nodes/n1/status', null],
      ['application/json-patch+json', '/api/v1/nodes/n1', 'All'],
    ])
  })

  it('apply with apiVersion and kind filled in', async () => {
    const { server, client } = await play([json(200, node)])
    const object = { metadata: { name: 'web', namespace: 'shop' } }
    await client.apply(deployments, object, { fieldManager: 'fettle', force: true, fieldValidation: 'Strict' })
    const [request] = server.seen
    expect(request?.path).toBe('/apis/apps/v1/namespaces/shop/deployments/web')
    expect(request?.query.toString()).toBe('force=true&fieldValidation=Strict&fieldManager=fettle')
    expect(request?.headers['content-type']).toBe('application/apply-patch+yaml')
    expect(request?.body).toEqual({ ...object, apiVersion: 'apps/v1', kind: 'Deployment' })
  })

  it('delete with preconditions in the body', async () => {
    const { server, client } = await play([json(200, { kind: 'Status', status: 'Success' })])
    await client.delete(
      pods,
      { name: 'p', namespace: 'shop' },
      { uid: 'u', resourceVersion: '4', gracePeriodSeconds: 0 },
    )
    expect(server.seen[0]?.body).toMatchObject({
      preconditions: { uid: 'u', resourceVersion: '4' },
      gracePeriodSeconds: 0,
    })
  })

  it('never turn an object without a name into a request on the whole collection', async () => {
    const { server, client } = await play([json(200, {})])
    for (const name of ['', '.', '..', 'a/b']) {
      const error = await failure(client.delete(nodes, { name }, { uid: 'any' }))
      expect(error.code).toBe('BadCall')
    }
    expect((await failure(client.get(pods, { name: 'p' }))).code).toBe('BadCall')
    expect(server.seen).toEqual([])
  })

  it('answer text as text', async () => {
    const { client } = await play([plain(200, 'ok')])
    await expect(client.request({ method: 'GET', path: '/readyz' })).resolves.toBe('ok')
  })

  it('ask for another form of the answer', async () => {
    const { server, client } = await play([json(200, {})])
    await client.request({ method: 'GET', path: '/apis', accept: 'application/json;as=Table' })
    await client.request({ method: 'GET', path: '/apis' })
    expect(server.seen.map(({ headers }) => headers.accept)).toEqual(['application/json;as=Table', 'application/json'])
  })

  it('are refused by the guard before anything is sent', async () => {
    const guard = (method: string, path: string) =>
      method === 'DELETE' && path.startsWith('/api/v1/nodes') ? 'nodes are never deleted here' : undefined
    const { server, client } = await play([json(200, node)], { guard })
    const error = await failure(client.delete(nodes, { name: 'n1' }, { uid: 'u' }))
    expect(error.code).toBe('GuardRefused')
    expect(error.message).toContain('nodes are never deleted here')
    expect(server.seen).toEqual([])
    expect(client.counters().refused).toBe(1)
  })

  const neverAnswers: Reply = () => undefined

  it('end when the client is closed under them, open no new connection, and leave a sent write in doubt', async () => {
    const { server, client } = await play([neverAnswers])
    const calls = [
      failure(client.get(nodes, { name: 'n1' })),
      failure(client.delete(pods, { name: 'p', namespace: 'd' }, { uid: 'u' })),
      failure(client.create(nodes, node)),
      failure(client.watch(nodes, { signal: new AbortController().signal })[Symbol.asyncIterator]().next()),
    ]
    while (server.seen.length < calls.length) await new Promise((resolve) => setTimeout(resolve, 1))
    client.close()
    const codes = (await Promise.all(calls)).map((error) => error.code)
    expect(codes).toEqual(['Closed', 'Closed', 'UnknownOutcome', 'Closed'])
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(server.seen).toHaveLength(calls.length)
  })

  it('end when the client is closed while they wait for their next attempt', async () => {
    const clock = new FakeClock()
    const { server, client } = await play(
      [refusal(429, 'TooManyRequests', 'later', undefined, { 'retry-after': '5' })],
      { clock },
    )
    const call = failure(client.get(nodes, { name: 'n1' }))
    while (clock.sleeping < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    client.close()
    expect((await call).code).toBe('Closed')
    expect(clock.sleeping).toBe(0)
    expect(server.seen).toHaveLength(1)
  })

  it('may share one signal in any number, without a warning about leaks', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error) => warnings.push(warning.message)
    process.on('warning', onWarning)
    cleanups.push(() => {
      process.off('warning', onWarning)
    })
    const { client } = await play([json(200, node)])
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 30 }, () => client.get(nodes, { name: 'n1' }, { signal })))
    expect(warnings).toEqual([])
  })

  it('with a token that no header can carry fail as such, without quoting it', async () => {
    const server = await scriptedServer(json(200, node))
    const credentials = fixedCredential({ token: new Secret('canary\n') })
    const client = connect({ ...server.config, credentials }, { component: 'test' })
    cleanups.push(
      () => client.close(),
      () => server.close(),
    )
    const error: unknown = await client.get(nodes, { name: 'n1' }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'CredentialUnreadable' })
    expect(String(error)).toContain('Authorization')
    expect(inspect(error)).not.toContain('canary')
  })

  it('fail after close', async () => {
    const { client } = await play([json(200, node)])
    client.close()
    expect((await failure(client.get(nodes, { name: 'n1' }))).code).toBe('Closed')
  })
})

describe('refusals', () => {
  const cases: readonly [number, string, string][] = [
    [400, 'BadRequest', 'BadRequest'],
    [403, 'Forbidden', 'Forbidden'],
    [404, 'NotFound', 'NotFound'],
    [405, 'MethodNotAllowed', 'NotSupported'],
    [409, 'AlreadyExists', 'AlreadyExists'],
    [409, 'Conflict', 'Conflict'],
    [410, 'Expired', 'Gone'],
    [413, 'RequestEntityTooLarge', 'TooLarge'],
    [422, 'Invalid', 'Invalid'],
    [500, 'InternalError', 'Server'],
    [302, '', 'BadResponse'],
  ]
  for (const [status, reason, code] of cases) {
    it(`${status} ${reason} is ${code}, with the server's own words and the path`, async () => {
      const { client } = await play([refusal(status, reason, 'because of this')])
      const error = await failure(client.create(nodes, node))
      expect(error.code).toBe(code)
      expect(error.message).toMatch(/^POST \/api\/v1\/nodes failed: .*because of this\./)
    })
  }

  it('a body that is not JSON is told without quoting it', async () => {
    const { client } = await play([
      (answer) => void answer.writeHead(200, { 'content-type': 'application/json' }).end('{"secret-canary'),
    ])
    const error = await failure(client.get(nodes, { name: 'n1' }))
    expect(error.code).toBe('BadResponse')
    expect(inspect(error, { depth: 9 })).not.toContain('canary')
  })
})

describe('retries', () => {
  it('wait as long as Retry-After says, even for a create', async () => {
    const clock = new FakeClock()
    const { server, client } = await play([plain(429, 'slow down', { 'retry-after': '7' }), json(201, node)], { clock })
    const created = client.create(nodes, node)
    await until(() => clock.sleeping === 2)
    await clock.advance(6_999)
    expect(server.seen.length).toBe(1)
    await clock.advance(1)
    await expect(created).resolves.toEqual(node)
    expect(client.counters()).toMatchObject({ retries: 1, requests: { 'POST nodes 429': 1, 'POST nodes 201': 1 } })
  })

  it('give up at once when Retry-After goes past the deadline', async () => {
    const { client } = await play([plain(429, 'slow down', { 'retry-after': '20' })])
    const error = await failure(client.get(nodes, { name: 'n1' }, { deadlineMs: 5_000 }))
    expect(error).toMatchObject({ code: 'TooManyRequests', retryAfterMs: 20_000, attempts: 1 })
  })

  it('repeat a read whose connection was reset', async () => {
    const { server, client } = await play([reset, json(200, node)])
    await expect(client.get(nodes, { name: 'n1' })).resolves.toEqual(node)
    expect(server.seen.length).toBe(2)
  })

  it('never repeat a create whose connection was reset: it may have happened', async () => {
    const { server, client } = await play([reset, json(201, node)])
    const error = await failure(client.create(nodes, node))
    expect(error.code).toBe('UnknownOutcome')
    expect(error.kind).toBe('retryable')
    expect(server.seen.length).toBe(1)
  })

  it('repeat a server-side apply and a delete by UID', async () => {
    const { client } = await play([reset, json(200, node)])
    await client.apply(nodes, { metadata: { name: 'n1' } }, { fieldManager: 'fettle' })
    const other = await play([reset, json(200, {})])
    await other.client.delete(nodes, { name: 'n1' }, { uid: 'u1' })
  })

  it('repeat a create that was certainly not sent', async () => {
    const server = await scriptedServer(json(201, node))
    await server.close()
    const clock = new FakeClock()
    const client = connect(server.config, { component: 'test', random: () => 0, clock })
    cleanups.push(() => client.close())
    const call = failure(client.create(nodes, node))
    for (const attempt of [1, 2, 3, 4]) {
      await until(() => clock.sleeping === 2)
      await clock.advance(50 * 2 ** (attempt - 1))
    }
    const error = await call
    expect(error.code).toBe('Unreachable')
    expect(error.attempts).toBe(5)
    expect(error.message).toContain('a scripted server')
  })

  it('end at the deadline; a write is then in doubt, a read is not', async () => {
    const silence: Reply = () => undefined
    const { client } = await play([silence])
    expect((await failure(client.get(nodes, { name: 'n1' }, { deadlineMs: 30 }))).code).toBe('Timeout')
    expect((await failure(client.create(nodes, node, { deadlineMs: 30 }))).code).toBe('UnknownOutcome')
  })

  it('end with the reason of the signal', async () => {
    const { client } = await play([() => undefined])
    const stop = new AbortController()
    const call = client.get(nodes, { name: 'n1' }, { signal: stop.signal })
    setTimeout(() => stop.abort(new Error('enough')), 5)
    await expect(call).rejects.toThrow('enough')
  })

  it('ask for new credentials once after a 401', async () => {
    let token = 'old'
    const credentials = {
      current: async () => ({ token: new Secret(token) }),
      refresh: () => {
        token = 'new'
        return true
      },
    }
    const server = await scriptedServer(refusal(401, 'Unauthorized', 'no'), json(200, node))
    const client = connect({ ...server.config, credentials }, { component: 'test' })
    cleanups.push(
      () => client.close(),
      () => server.close(),
    )
    await client.get(nodes, { name: 'n1' })
    expect(server.seen.map((request) => request.headers.authorization)).toEqual(['Bearer old', 'Bearer new'])
  })
})

describe('evictions', () => {
  const pod = { name: 'web-1', namespace: 'shop' }

  it('surface a refusal by a budget as its own thing, with the budget, and without a retry', async () => {
    const details = {
      causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget web needs 2 healthy pods' }],
    }
    const { server, client } = await play([refusal(429, 'TooManyRequests', 'Cannot evict pod', details)])
    const error = await failure(client.evict(pod, { uid: 'u' }))
    expect(error.code).toBe('EvictionBlocked')
    expect(error.message).toContain('The disruption budget web needs 2 healthy pods')
    expect(server.seen.length).toBe(1)
    expect(server.seen[0]).toMatchObject({
      path: '/api/v1/namespaces/shop/pods/web-1/eviction',
      body: { kind: 'Eviction', metadata: pod, deleteOptions: { preconditions: { uid: 'u' } } },
    })
  })

  it.each([
    ['the server sheds load, which it says in plain text', plain(429, 'Too many requests', { 'retry-after': '0' })],
    ['a storage is not ready yet', refusal(429, 'TooManyRequests', 'storage is (re)initializing', { causes: null })],
    [
      'a webhook is busy, for a cause of its own',
      refusal(429, 'TooManyRequests', 'admission webhook "w" denied the request', { causes: [{ reason: 'Busy' }] }),
    ],
  ])('repeat when %s: no budget has spoken', async (_why, busy) => {
    const { server, client } = await play([busy, json(201, {})])
    await client.evict(pod, { uid: 'u' })
    expect(server.seen.length).toBe(2)
  })

  it('that nobody has time for, ever, are not said to be blocked by a budget', async () => {
    const { client } = await play([refusal(429, 'TooManyRequests', 'later', undefined, { 'retry-after': '20' })])
    const error = await failure(client.evict(pod, { uid: 'u', deadlineMs: 1_000 }))
    expect(error).toMatchObject({ code: 'TooManyRequests', retryAfterMs: 20_000 })
  })
})

describe('secrets', () => {
  it('never show in an error, however deep one looks', async () => {
    const server: ScriptedServer = await scriptedServer(refusal(401, 'Unauthorized', 'no'), reset)
    const credentials = fixedCredential({ token: new Secret('token-canary') })
    const client: ConnectedClient = connect({ ...server.config, credentials }, { component: 'test', random: () => 0 })
    cleanups.push(
      () => client.close(),
      () => server.close(),
    )
    for (const attempt of [1, 2]) {
      const error = await failure(client.create(nodes, node))
      const shown = `${String(error)}${error.stack}${JSON.stringify(error)}${inspect(error, { depth: 20, showHidden: true })}`
      expect(shown, `attempt ${attempt}`).not.toContain('canary')
    }
    expect(inspect(client, { depth: 20 })).not.toContain('canary')
  })
})

async function until(isTrue: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !isTrue(); round++) await new Promise((resolve) => setTimeout(resolve, 2))
}
