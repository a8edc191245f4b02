import { expect, onTestFinished, test } from 'vitest'
import type { Address } from '../cli/index.ts'
import { placesFor, startListeners } from './listeners.ts'

const host = '127.0.0.1'
const pages = { notReady: () => [], metrics: async () => '' }

async function listen(...places: readonly Address[]) {
  const said: { readonly fields: object; readonly text: string }[] = []
  const listeners = await startListeners(places, pages, { warn: (fields, text) => void said.push({ fields, text }) })
  onTestFinished(async () => {
    await Promise.all(listeners.map((listener) => listener.close()))
  })
  return { ports: listeners.map(({ port }) => port), said }
}

test('a port that has two roles is listened on once', async () => {
  const { ports, said } = await listen({ host, port: 0 }, { host, port: 0 })
  expect([ports, said]).toEqual([[expect.any(Number)], []])
  expect((await fetch(`http://${host}:${ports[0]}/healthz`)).status).toBe(200)
})

test('a port that is taken is a failure, unless nobody asked for it: then it is said', async () => {
  const [port = 0] = (await listen({ host, port: 0 })).ports
  await expect(listen({ host, port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const { ports, said } = await listen({ host, port: 0 }, { host, port, isOptional: true })
  expect(ports).toHaveLength(1)
  expect(said).toEqual([
    {
      fields: { host, port, why: expect.stringContaining('EADDRINUSE') as string },
      text: 'health is not answered here, where maintenance-controller would; say --health-addr',
    },
  ])
})

const at = (text: string): Address => {
  const [, name = '', port = '', optional] = /^(.*):(\d+)(\?)?$/.exec(text) ?? []
  return { host: name, port: Number(port), ...(optional ? { isOptional: true as const } : {}) }
}

test.for([
  ['two ports', ['0.0.0.0:8080', '127.0.0.1:8081'], ['0.0.0.0:8080', '127.0.0.1:8081'], []],
  ['one place twice', ['127.0.0.1:8080', '127.0.0.1:8080'], ['127.0.0.1:8080'], []],
  ['two places of one port', ['10.0.0.5:8080', '127.0.0.1:8080'], ['10.0.0.5:8080', '127.0.0.1:8080'], []],
  ['one place, and all', ['127.0.0.1:8080', '0.0.0.0:8080'], ['0.0.0.0:8080'], ['127.0.0.1:8080']],
  ['all, and one place', ['0.0.0.0:8080', '127.0.0.1:8080'], ['0.0.0.0:8080'], ['127.0.0.1:8080']],
  ['all of IPv4, and one of IPv6', ['0.0.0.0:8080', '::1:8080'], ['0.0.0.0:8080', '::1:8080'], []],
  ['all of both kinds', ['0.0.0.0:8080', '127.0.0.1:8080', ':::8080'], [':::8080'], ['0.0.0.0:8080', '127.0.0.1:8080']],
  ['one place, and all if nobody asked', ['127.0.0.1:8081', '0.0.0.0:8081?'], ['127.0.0.1:8081'], []],
  ['one that nobody asked for', ['0.0.0.0:8080', '0.0.0.0:8081?'], ['0.0.0.0:8080', '0.0.0.0:8081?'], []],
] as const)('what is listened on for %s', ([, asked, places, widened]) => {
  expect(placesFor(asked.map(at))).toEqual({ places: places.map(at), widened: widened.map(at) })
})

test('what was meant for one address and is answered on all is said', async () => {
  const { ports, said } = await listen({ host, port: 0 }, { host: '0.0.0.0', port: 0 })
  expect(ports).toHaveLength(1)
  const text = 'this port is asked for on all addresses, too: what was meant for one is answered on all'
  expect(said).toEqual([{ fields: { host, port: 0 }, text }])
})
