import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { withStore } from './sync-memory.ts'

test('the server hears which Sync speaks', async () => {
  const agents: unknown[] = []
  const server = createServer((request, response) => {
    agents.push(request.headers['user-agent'])
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const folder = mkdtempSync(join(tmpdir(), 'fettle-agent-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config')
  const { port } = server.address() as AddressInfo
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  )
  await withStore({ kubeconfig, namespace: ['shop'], name: 'web-shop' }, ({ client }) =>
    client.request({ method: 'GET', path: '/version' }),
  )
  expect(agents).toEqual([expect.stringMatching(/^fettle\/\S+ \(cli; sync web-shop\)$/)])
})
