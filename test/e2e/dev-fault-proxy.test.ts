import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectTo, type FaultProxy, issueExpirableToken, startFaultProxy } from '../../src/dev/index.ts'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually, sharedRecord } from '../support/e2e-cluster.ts'
import { ask, open } from '../support/plain-request.ts'

const record = sharedRecord()
const namespaces = '/api/v1/namespaces'
let proxy: FaultProxy
const through = (path: string, token?: string) => ask(record, path, { url: proxy.url, ...(token ? { token } : {}) })

beforeEach(async () => {
  proxy = await startFaultProxy(record, { speakAs: 'admin' })
})
afterEach(() => proxy.close())

interface OpenWatch {
  readonly answer: IncomingMessage
  readonly lines: string[]
  readonly state: { ended: boolean }
}

async function watch(): Promise<OpenWatch> {
  const answer = await open(record, '/api/v1/namespaces/default/configmaps?watch=true', {
    url: proxy.url,
    withinMs: 60_000,
  })
  const opened: OpenWatch = { answer, lines: [], state: { ended: false } }
  answer.setEncoding('utf8').on('data', (text: string) => opened.lines.push(text))
  for (const event of ['end', 'error', 'close']) answer.on(event, () => (opened.state.ended = true))
  return opened
}

async function touchConfigMap(name: string): Promise<void> {
  const client = await connectTo(record)
  await client.create<KubeObject>(resources.configMaps, { metadata: { namespace: 'default', name } })
  await client.delete(resources.configMaps, { namespace: 'default', name }, { uid: 'any' })
  client.close()
}

const sees = (opened: OpenWatch, name: string) =>
  eventually(() => expect(opened.lines.join('')).toContain(`"name":"${name}"`), { withinMs: 5_000 })

describe('the fault proxy', () => {
  test('passes everything on while no fault is asked for, and counts', async () => {
    expect(await through(namespaces)).toMatchObject({ status: 200 })
    expect(await through(`${namespaces}/nope`)).toMatchObject({ status: 404 })
    expect([...proxy.counts]).toEqual([
      ['GET 200', 1],
      ['GET 404', 1],
    ])
  })

  test("passes the caller's own token on when it speaks for nobody", async () => {
    const plain = await startFaultProxy(record)
    const client = await connectTo(record)
    try {
      const { token } = await issueExpirableToken(client, { namespace: 'default', name: 'default' })
      expect(await ask(record, namespaces, { url: plain.url, token })).toMatchObject({ status: 403 })
      expect(await ask(record, namespaces, { url: plain.url, token: 'nonsense' })).toMatchObject({ status: 401 })
    } finally {
      client.close()
      await plain.close()
    }
  })

  test.each([
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ] as const)('answers %s as the API server would, so often, and then no more', async (status, reason) => {
    proxy.inject({ status, count: 2, retryAfterSeconds: 3 })
    for (let time = 0; time < 2; time++) {
      const answer = await through(namespaces)
      expect(answer).toMatchObject({ status, headers: { 'retry-after': '3', 'content-type': 'application/json' } })
      expect(JSON.parse('body' in answer ? answer.body : '')).toMatchObject({ kind: 'Status', code: status, reason })
    }
    expect(await through(namespaces)).toMatchObject({ status: 200 })
  })

  test('breaks only what was meant', async () => {
    proxy.inject({
      status: 500,
      count: 1,
      matches: ({ method, path }) => method === 'GET' && path.endsWith('/default'),
    })
    expect(await through(namespaces)).toMatchObject({ status: 200 })
    expect(await through(`${namespaces}/default`)).toMatchObject({ status: 500 })
    expect(await through(`${namespaces}/default`)).toMatchObject({ status: 200 })
  })

  test('cuts watches without a word', async () => {
    const opened = await watch()
    await touchConfigMap('before-cut')
    await sees(opened, 'before-cut')
    expect(proxy.openWatches).toBe(1)
    expect(proxy.cutWatches()).toBe(1)
    await eventually(() => expect(opened.state.ended).toBe(true), { withinMs: 10_000 })
    expect(opened.answer.complete).toBe(false)
    expect(proxy.openWatches).toBe(0)
    expect(await through(namespaces)).toMatchObject({ status: 200 })
  })

  test('stalls watches: open for ever, and silent', async () => {
    const stalled = await watch()
    await touchConfigMap('before-stall')
    await sees(stalled, 'before-stall')
    expect(proxy.stallWatches()).toBe(1)
    const fresh = await watch()
    await touchConfigMap('after-stall')
    await sees(fresh, 'after-stall')
    expect(stalled.lines.join('')).not.toContain('after-stall')
    expect(stalled.state.ended).toBe(false)
    stalled.answer.destroy()
    fresh.answer.destroy()
  })

  test('goes dark: open watches end, nobody is answered, and then all is well again', async () => {
    const opened = await watch()
    proxy.blackout(3_000)
    await eventually(() => expect(opened.state.ended).toBe(true), { withinMs: 2_500 })
    expect(await through(namespaces)).toMatchObject({ failed: expect.any(String) })
    await eventually(async () => expect(await through(namespaces)).toMatchObject({ status: 200 }), { withinMs: 15_000 })
  })

  test('takes its connections with it when it closes', async () => {
    const opened = await watch()
    await proxy.close()
    await eventually(() => expect(opened.state.ended).toBe(true), { withinMs: 10_000 })
    expect(await through(namespaces)).toMatchObject({ failed: 'ECONNREFUSED' })
    proxy = await startFaultProxy(record)
  })
})
