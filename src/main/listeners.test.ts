import { expect, onTestFinished, test } from 'vitest'
import type { Address } from '../cli/index.ts'
import { startListeners } from './listeners.ts'

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
