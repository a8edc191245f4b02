import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type HttpOptions, startHttp } from './http.ts'

async function serve(options: Partial<HttpOptions> = {}) {
  const server = await startHttp({
    port: 0,
    host: '127.0.0.1',
    notReady: () => [],
    metrics: async () => 'm 1\n',
    ...options,
  })
  onTestFinished(() => server.close())
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { method })
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  }
  return { server, ask }
}

const plain = 'text/plain; charset=utf-8'

test('it is alive, whatever it is not ready for', async () => {
  const { ask } = await serve({ notReady: () => ['the first list of v1/pods is not complete'] })
  expect(await ask('/healthz')).toEqual({ status: 200, type: plain, text: 'ok\n' })
})

test('it is ready when nothing is missing, and says what is', async () => {
  const missing = ['the first list of v1/pods is not complete', 'the first list of v1/nodes is not complete']
  const { ask } = await serve({ notReady: () => missing })
  expect(await ask('/readyz')).toEqual({ status: 503, type: plain, text: `${missing.join('\n')}\n` })
  missing.length = 0
  expect(await ask('/readyz?verbose')).toEqual({ status: 200, type: plain, text: 'ok\n' })
})

test('metrics come as Prometheus reads them', async () => {
  const { ask } = await serve()
  expect(await ask('/metrics')).toEqual({
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
    text: 'm 1\n',
  })
})

test('who has to send a token gets nothing but health without it, and the token may change', async () => {
  let token = 's3cret\n'
  const { server, ask } = await serve({ token: async () => token, info: async () => '[]' })
  const askWith = async (path: string, authorization: string) =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { authorization } })).status
  for (const path of ['/metrics', '/api/v1/info', '/']) {
    expect((await ask(path)).status).toBe(401)
    expect(await askWith(path, 'Bearer other')).toBe(401)
    expect(await askWith(path, 'Bearer s3cret')).toBe(path === '/' ? 404 : 200)
  }
  for (const path of ['/healthz', '/readyz']) expect((await ask(path)).status).toBe(200)
  token = 'next'
  expect([await askWith('/metrics', 'Bearer s3cret'), await askWith('/metrics', 'Bearer next')]).toEqual([401, 200])
  token = ' '
  expect([await askWith('/metrics', 'Bearer '), await askWith('/metrics', 'Bearer')]).toEqual([401, 401])
})

test('metrics that fail are an answer of their own, and the next question is answered', async () => {
  const { ask } = await serve({ metrics: () => Promise.reject(new Error('no figures')) })
  expect(await ask('/metrics')).toEqual({ status: 500, type: plain, text: 'no figures\n' })
  expect((await ask('/healthz')).status).toBe(200)
})

test.for([
  ['GET', '/', 404, 'there are /healthz, /readyz and /metrics\n'],
  ['GET', '/healthz/', 404, 'there are /healthz, /readyz and /metrics\n'],
  ['POST', '/healthz', 405, 'only GET is answered here\n'],
  ['DELETE', '/metrics', 405, 'only GET is answered here\n'],
  ['HEAD', '/healthz', 200, ''],
] as const)('%s %s is answered with %i', async ([method, path, status, text]) => {
  const { ask } = await serve()
  expect(await ask(path, method)).toEqual({ status, type: plain, text })
})

test('it closes even if somebody keeps a connection open', async () => {
  const { server } = await serve()
  const socket = connect(server.port, '127.0.0.1')
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined).once('close', () => resolve())
  })
  await new Promise<void>((resolve) => {
    socket.once('connect', () => resolve())
  })
  await server.close()
  await closed
})

test('a port that is taken is an error, not silence', async () => {
  const { server } = await serve()
  await expect(
    startHttp({ port: server.port, host: '127.0.0.1', notReady: () => [], metrics: async () => '' }),
  ).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
