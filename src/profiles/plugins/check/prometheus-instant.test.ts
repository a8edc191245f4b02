import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, type TestContext, test, vi } from 'vitest'
import { throwawayCertificate } from '../../../kube/http/throwaway-certificate.ts'
import { FakeClock } from '../../../time/fake-clock.ts'
import { createFor, noon, passOf, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { prometheusInstant } from './prometheus-instant.ts'

type Given = Parameters<
  typeof createFor<ReturnType<typeof prometheusInstant.create>, typeof prometheusInstant.fields>
>[1]

const basic = { query: 'up', expr: 'value == 1' } as const
const canary = 'c4n4ry-s3cret'
const withPassword = (url: string) => url.replace('//', `//u:${canary}@`)

async function listen(
  test: Pick<TestContext, 'onTestFinished'>,
  reply: RequestListener,
  server: Server | SecureServer = createServer(reply),
): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `${server instanceof SecureServer ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function vector(...values: readonly string[]): string {
  const result = values.map((value) => ({ metric: {}, value: [1, value] }))
  return JSON.stringify({ status: 'success', data: { resultType: 'vector', result } })
}

async function ask(config: Given, parts: Parameters<typeof passOf>[0] = {}) {
  return createFor(prometheusInstant, { ...basic, ...config }).check(passOf(parts))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

test.for([
  ['value == 1', true],
  ['value < 1', false],
  ['value', true],
  ['value - 1', false],
  ['value in [1,2]', true],
] as const)('of the sample 1, %s: %s', async ([expr, isPassed], context) => {
  const url = await listen(context, (_, answer) => answer.end(vector('1')))
  expect(await ask({ url, expr })).toEqual({ isPassed, info: { url: `${url}/`, query: 'up', expr, value: 1 } })
})

test('it is asked by POST, below its path, at the moment of the pass', async (context) => {
  const seen: string[] = []
  const url = await listen(context, (request, answer) => {
    void textOf(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${body}`)
      answer.end(vector('1'))
    })
  })
  const query = 'sum(up{job="a b"}) + 1'
  expect(await ask({ url: `${url}/prometheus/`, query })).toMatchObject({ isPassed: true })
  expect(seen).toEqual([
    `POST /prometheus/api/v1/query query=sum%28up%7Bjob%3D%22a+b%22%7D%29+%2B+1&time=${noon / 1_000}`,
  ])
})

const search = '?extra_label=cluster%3Da&dedup'

test('what the url asks for beyond its path is asked for, too', async (context) => {
  const seen: string[] = []
  const url = await listen(context, (request, answer) => {
    void textOf(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${body}`)
      if (request.method === 'POST') answer.writeHead(405).end()
      else answer.end(vector('1'))
    })
  })
  const { info } = await ask({ url: `${url}/select/${search}` })
  const form = `query=up&time=${noon / 1_000}`
  expect(seen).toEqual([
    `POST /select/api/v1/query${search} ${form}`,
    `GET /select/api/v1/query?${form}&${search.slice(1)} `,
  ])
  expect(info['url']).toBe(`${url}/select/`)
})

test.for([
  ['a value', `?token=${canary}%2B&a=1`],
  ['a name without a value', `?${canary}`],
  ['one that begins as another', `?a=${canary.slice(0, 5)}&b=${canary}`],
] as const)('what the url asks for is shown nowhere: %s', async ([, asked], context) => {
  const url = await listen(context, (request, answer) => {
    const said = `${request.url} ${decodeURIComponent(request.url ?? '')}, but 1`
    answer.end(JSON.stringify({ status: 'error', error: said }))
  })
  const config = { url: `${url}/${asked}` }
  const error: unknown = await ask(config).catch((reason: unknown) => reason)
  expect(String(error)).toContain('[redacted]')
  expect(String(error)).toContain(', but 1')
  const shown = JSON.stringify([String(error), createFor(prometheusInstant, { ...basic, ...config })])
  expect(shown).not.toContain(canary)
  expect(shown).not.toContain(canary.slice(-5))
})

test('what the url asks for is not shown where nobody answers, nor in what was found', async (context) => {
  const url = await listen(context, (_, answer) => answer.end(vector('1')))
  expect(JSON.stringify(await ask({ url: `${url}/?token=${canary}` }))).not.toContain(canary)
  const error: unknown = await ask({ url: `http://127.0.0.1:1/?token=${canary}` }).catch((reason: unknown) => reason)
  expect(String(error)).toContain('http://127.0.0.1:1 cannot be asked')
  expect(String(error)).not.toContain(canary)
})

test.for([405, 501])('who answers %d to POST is asked by GET', async (status, context) => {
  const url = await listen(context, ({ method, url: path }, answer) => {
    if (method === 'POST') answer.writeHead(status).end()
    else answer.end(path === `/api/v1/query?query=up&time=${noon / 1_000}` ? vector('1') : path)
  })
  expect(await ask({ url })).toMatchObject({ isPassed: true })
})

test.for([
  ['NaN', 'value == value', false, 'NaN'],
  ['+Inf', 'value > 1e300', true, 'Infinity'],
  ['-Inf', 'value < -1e300', true, '-Infinity'],
  ['1.5e-3', 'value == 0.0015', true, 0.0015],
] as const)('the sample %s, %s: %s', async ([sample, expr, isPassed, value], context) => {
  const url = await listen(context, (_, answer) => answer.end(vector(sample)))
  expect(await ask({ url, expr })).toMatchObject({ isPassed, info: { value } })
})

test.for([
  ['no sample', vector(), 'the query gives no sample; check the metric, or say with onEmpty what that means'],
  ['two samples', vector('1', '1'), 'the query gives 2 samples; write one that gives exactly one, with sum or max'],
  [
    'a scalar',
    '{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}',
    'the query gives a scalar; write one that gives a vector of one sample',
  ],
  ['nothing', '', 'answered 200 with something that is no result of a query; check the url'],
  ['a page', '<html>please log in</html>', 'answered 200 with something that is no result of a query'],
  ['at length', vector(...Array<string>(20_000).fill('1')), 'answered with more than 256 KiB'],
] as const)('an answer of %s is an error', async ([, body, message], context) => {
  const url = await listen(context, (_, answer) => answer.end(body))
  await expect(ask({ url })).rejects.toThrow(message)
})

test.for([
  ['pass', true],
  ['fail', false],
] as const)('no sample with onEmpty %s: %s', async ([onEmpty, isPassed], context) => {
  const url = await listen(context, (_, answer) => answer.end(vector()))
  expect(await ask({ url, onEmpty })).toMatchObject({ isPassed, info: { reason: 'the query gives no sample' } })
})

test('warnings are told', async (context) => {
  const body = JSON.stringify({ ...(JSON.parse(vector('1')) as object), warnings: ['one of two did not answer'] })
  const url = await listen(context, (_, answer) => answer.end(body))
  expect(await ask({ url })).toMatchObject({ info: { warns: ['one of two did not answer'] } })
})

test('a server that is not there is an error', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((resolve) => server.close(resolve))
  await expect(ask({ url })).rejects.toThrow(`${url} cannot be asked: ECONNREFUSED`)
})

test.for([301, 302, 307, 308])('a redirect with %d is followed, and the query goes along', async (status, context) => {
  const seen: string[] = []
  const url = await listen(context, (request, answer) => {
    void textOf(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${body} ${request.headers.authorization}`)
      if (request.url === '/api/v1/query') answer.writeHead(status, { location: '/prometheus/api/v1/query' }).end()
      else answer.end(vector('1'))
    })
  })
  expect(await ask({ url, token: 't' })).toMatchObject({ isPassed: true, info: { url: `${url}/` } })
  const asked = `query=up&time=${noon / 1_000} Bearer t`
  expect(seen).toEqual([`POST /api/v1/query ${asked}`, `POST /prometheus/api/v1/query ${asked}`])
})

/** Who trusts anybody: what is asked here is where a token goes, not whom it is shown to. */
async function listenSecurely(test: TestContext, reply: RequestListener): Promise<string> {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  test.onTestFinished(() => void vi.unstubAllEnvs())
  return listen(test, reply, createSecureServer(throwawayCertificate('localhost'), reply))
}

test('from http to https on the same host a token goes along', async (context) => {
  const seen: (string | undefined)[] = []
  const secure = await listenSecurely(context, ({ headers }, answer) => {
    seen.push(headers.authorization)
    answer.end(vector('1'))
  })
  const url = await listen(context, ({ url: path }, answer) =>
    answer.writeHead(301, { location: `${secure}${path}` }).end(),
  )
  expect(await ask({ url, token: 't' })).toMatchObject({ isPassed: true })
  expect(seen).toEqual(['Bearer t'])
})

test.for([
  ['a token', 'another host', 'localhost', { token: canary }],
  ['a token', 'another port', '127.0.0.1', { token: canary }],
  ['a password', 'another port', '127.0.0.1', {}],
] as const)('%s does not follow a redirect to %s, which is not asked', async ([, , host, secret], context) => {
  let count = 0
  const other = await listen(context, (_, answer) => {
    count++
    answer.end(vector('1'))
  })
  const elsewhere = other.replace('127.0.0.1', host)
  const url = await listen(context, (_, answer) => answer.writeHead(307, { location: elsewhere }).end())
  const config = 'token' in secret ? { url, ...secret } : { url: withPassword(url) }
  await expect(ask(config)).rejects.toThrow(
    `${url} answered 307 and points to ${elsewhere}, where no token or password is sent; write the address that you trust as url`,
  )
  expect(count).toBe(0)
})

test('without a token a redirect to another host is followed', async (context) => {
  const other = await listen(context, (_, answer) => answer.end(vector('1')))
  const location = `${other.replace('127.0.0.1', 'u:p@127.0.0.1')}/api/v1/query`
  const url = await listen(context, (_, answer) => answer.writeHead(307, { location }).end())
  expect(await ask({ url })).toMatchObject({ isPassed: true })
})

test('a redirect from https to http is not followed', async (context) => {
  const plain = await listen(context, (_, answer) => answer.end(vector('1')))
  const url = await listenSecurely(context, (_, answer) => answer.writeHead(308, { location: plain }).end())
  await expect(ask({ url })).rejects.toThrow(`${url} answered 308 and points to ${plain}, where nothing is encrypted`)
})

test.for([
  ['in a circle', '/api/v1/query', 'redirects in a circle; write the address of Prometheus itself as url'],
  ['to no server', 'ftp://127.0.0.1/', 'answered 302 without an address to go to; check the url'],
  ['to nowhere', undefined, 'answered 302 with something that is no result of a query; check the url'],
  ['to a host named as the token', `http://${canary}/`, 'answered 302 and points to http://[redacted], where no'],
] as const)('a redirect %s is an error', async ([, location, message], context) => {
  const url = await listen(context, (_, answer) => answer.writeHead(302, location ? { location } : {}).end())
  await expect(ask({ url, token: canary })).rejects.toThrow(`${url} ${message}`)
})

test('whoever does not answer is given up after 10 s', async (context) => {
  const asked = new EventEmitter()
  const isAsked = once(asked, 'asked')
  const url = await listen(context, () => asked.emit('asked'))
  const clock = new FakeClock(noon)
  const refused = expect(ask({ url }, { clock })).rejects.toThrow(`${url} gave no answer within 10 s`)
  await isAsked
  await clock.advance(9_999)
  expect(clock.sleeping).toBe(1)
  await clock.advance(1)
  await refused
  expect(clock.sleeping).toBe(0)
})

test('whoever is asked to stop stops at once', async (context) => {
  const stop = new AbortController()
  const url = await listen(context, () => stop.abort(new Error('enough')))
  await expect(ask({ url }, { signal: stop.signal })).rejects.toThrow('enough')
})

test.for([
  ['a token', { token: canary }, `Bearer ${canary}`],
  ['a password in the url', {}, `Basic ${Buffer.from(`u:${canary}`).toString('base64')}`],
] as const)('%s is sent, and shown nowhere', async ([, more, header], context) => {
  const seen: (string | undefined)[] = []
  const url = await listen(context, ({ headers }, answer) => {
    seen.push(headers.authorization)
    answer.end(JSON.stringify({ status: 'error', error: `you sent ${canary}\nand ${headers.authorization}` }))
  })
  const config = 'token' in more ? { url, ...more } : { url: withPassword(url) }
  const error = await ask(config).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(seen).toEqual([header])
  expect(String(error)).toContain(`${url} refuses the query: you sent [redacted] and`)
  expect(JSON.stringify([String(error), createFor(prometheusInstant, { ...basic, ...config })])).not.toContain(canary)
})

test('what is shown of the url holds no password', async (context) => {
  const url = await listen(context, (_, answer) => answer.end(vector('1')))
  expect(JSON.stringify(await ask({ url: withPassword(url) }))).not.toContain(canary)
})

test.for([
  [{ url: 'http://p:9090' }, []],
  [{ url: 'x' }, ['url: it is no address; write for example http://prometheus.monitoring:9090']],
  [{ url: 'file:///etc' }, ['url: it is no address; write for example http://prometheus.monitoring:9090']],
  [{ url: 'http://p', query: '' }, ['query: it is missing; write what to ask Prometheus, such as up{job="node"}']],
  [{ url: 'http://p', expr: '' }, ['expr: it is missing; write what must be true of the sample, such as value < 5']],
  [{ url: 'http://p', expr: 'value <' }, ['expr: it ends where a value should come']],
  [{ url: 'http://p', token: 'a\nb' }, ['token: it has characters that no header can hold; store it anew']],
  [
    { url: `http://u:${canary}@p`, token: canary },
    ['token: the url has a user name or password already; write only one of the two'],
  ],
  [{ url: 'http://p', onEmpty: 'maybe' }, ['onEmpty: "maybe" is none of error, pass, fail']],
] as const)('%j has the problems %j', ([config, problems]) => {
  expect(problemsFor(prometheusInstant, { ...basic, ...config })).toEqual(problems)
})

test('an expression that is hardly meant is a warning', () => {
  expect(warningsFor(prometheusInstant, { ...basic, expr: '1 < value < 5' })).toEqual([
    'expr: comparisons in a row do not mean what they look like; write 1 < value && value < 5',
  ])
  for (const expr of ['value < 5', 'value <']) expect(warningsFor(prometheusInstant, { ...basic, expr })).toEqual([])
})
