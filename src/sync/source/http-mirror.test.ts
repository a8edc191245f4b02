import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../time/index.ts'
import { openMirror } from './mirror.ts'
import { ObjectReader } from './object-reader.ts'
import { type PlayedRepository, playRepository } from './played-repository.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** git's own server, asked by git over HTTP. Without encryption, which `openSource` does not allow, and git treats alike. */
const signal = AbortSignal.timeout(600_000)
let far: PlayedRepository
let folder = ''
let server: Server
let answer: Answer
const homeBefore = process.env['HOME']
beforeEach(async () => {
  far = playRepository()
  folder = mkdtempSync(join(tmpdir(), 'fettle-http-'))
  process.env['HOME'] = folder
  answer = serveGit
  server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  if (homeBefore === undefined) delete process.env['HOME']
  else process.env['HOME'] = homeBefore
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  far.remove()
  rmSync(folder, { recursive: true, force: true })
})

function serveGit(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '', 'http://127.0.0.1')
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      GIT_PROJECT_ROOT: far.path,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REQUEST_METHOD: request.method ?? '',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    },
  })
  request.pipe(backend.stdin)
  const chunks: Buffer[] = []
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  backend.on('close', () => {
    const said = Buffer.concat(chunks)
    const end = said.indexOf('\r\n\r\n')
    for (const line of said.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(': ')
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.end(said.subarray(end + 4))
  })
}

const mirror = (protocols = ['http']) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/.git`
  const wanted = { is: 'branch', name: 'main', ref: 'refs/heads/main' } as const
  return openMirror({ url, shown: url, protocols, wanted, cacheFolder: join(folder, 'cache'), clock: systemClock })
}

const loginWanted: Answer = (request, response) => {
  const login = `Basic ${Buffer.from('ada:hunter2').toString('base64')}`
  if (request.headers.authorization === login) serveGit(request, response)
  else response.writeHead(401, { 'www-authenticate': 'Basic realm="far"' }).end()
}

test('a mirror is brought up to date over HTTP', async () => {
  far.commit({ 'a.yaml': '1' })
  const near = mirror()
  await near.update(signal)
  const sha = far.commit({ 'a.yaml': '2' })
  expect(await near.ask(signal)).toBe(sha)
  await near.update(signal)
  const reader = new ObjectReader(near.gitDir)
  const object = await reader.read(`${near.tipName}^{commit}`, { mostPerObject: 10_000, left: 10_000 })
  reader.close()
  expect(object).toMatchObject({ id: sha })
})

test('a login is taken from .netrc, and not told to anybody', async () => {
  far.commit({ 'a.yaml': '1' })
  answer = loginWanted
  writeFileSync(join(folder, '.netrc'), 'machine 127.0.0.1 login ada password hunter2\n', { mode: 0o600 })
  await mirror().update(signal)
  writeFileSync(join(folder, '.netrc'), 'machine 127.0.0.1 login ada password hunter3\n', { mode: 0o600 })
  const fault: unknown = await mirror()
    .update(signal)
    .catch((error: unknown) => error)
  expect(fault).toMatchObject({ code: 'Denied', message: expect.not.stringContaining('hunter') })
})

test.for<[string, string, Answer]>([
  ['wants a login', 'Denied', loginWanted],
  ['forbids', 'Denied', (_, response) => void response.writeHead(403).end()],
  ['knows nothing', 'NotThere', (_, response) => void response.writeHead(404).end()],
  ['is in trouble', 'Unreachable', (_, response) => void response.writeHead(503).end()],
  ['hangs up', 'Unreachable', (_, response) => void response.destroy()],
  ['shows a page', 'Unreachable', (_, response) => void response.end('<html>\n<p>Log in first.</p>\n</html>\n')],
  [
    'sends us to a file',
    'Unreachable',
    (_, response) => void response.writeHead(302, { location: `file://${far.path}` }).end(),
  ],
])('a server that %s is %s', async ([, code, given]) => {
  far.commit({ 'a.yaml': '1' })
  answer = given
  await expect(mirror().update(signal)).rejects.toMatchObject({ code })
  await expect(mirror().ask(signal)).rejects.toMatchObject({ code })
})

test('a way that is not the one of the URL is not taken', async () => {
  far.commit({ 'a.yaml': '1' })
  await expect(mirror(['https']).update(signal)).rejects.toMatchObject({ code: 'Refused' })
})

test('settings of the user have no say', async () => {
  far.commit({ 'a.yaml': '1' })
  const away = '[url "http://127.0.0.1:1/"]\n insteadOf = http://127.0.0.1\n[http]\n proxy = http://127.0.0.1:1\n'
  writeFileSync(join(folder, '.gitconfig'), away)
  await mirror().update(signal)
})

test('a server that says nothing is left when nobody waits any more', async () => {
  answer = () => undefined
  await expect(mirror().update(AbortSignal.timeout(300))).rejects.toMatchObject({ name: 'TimeoutError' })
})
