import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { KubeClient } from '../door.ts'
import { NotLeaderError } from '../lease/leader-term.ts'
import { configMaps } from '../resources.ts'
import { connect } from './client.ts'
import { fencedClient } from './fenced-client.ts'
import { json, plain, type Reply, refusal, scriptedServer } from './scripted-server.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})

/** A term that can be ended, and a client of a leader in it. */
async function lead(...replies: readonly Reply[]) {
  const server = await scriptedServer(...replies)
  const clock = new FakeClock()
  const client = connect(server.config, { component: 'test', random: () => 0, clock })
  cleanups.push(
    () => client.close(),
    () => server.close(),
  )
  let isOver = false
  const term = {
    assertStillLeader: () => {
      if (isOver) throw new NotLeaderError(7, 'somebody else leads')
    },
  }
  const end = () => {
    isOver = true
  }
  return { server, clock, client, term, end, fenced: fencedClient(client, term) }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !isSo(); round++) await new Promise((resolve) => setTimeout(resolve, 2))
}

const ref = { name: 'c', namespace: 'n' }
const object = { metadata: ref }
const busy = plain(429, 'slow down', { 'retry-after': '20' })
const away = refusal(503, 'ServiceUnavailable', 'away', undefined, { 'retry-after': '20' })
const writes: readonly [string, (client: KubeClient) => Promise<unknown>][] = [
  ['create', (client) => client.create(configMaps, object)],
  ['replace', (client) => client.replace(configMaps, object)],
  ['patch', (client) => client.patch(configMaps, ref, { type: 'merge', body: {} })],
  ['apply', (client) => client.apply(configMaps, object, { fieldManager: 'test' })],
  ['delete', (client) => client.delete(configMaps, ref, { uid: 'u' })],
  ['evict', (client) => client.evict(ref, { uid: 'u' })],
  ['request', (client) => client.request({ method: 'POST', path: '/api/v1/namespaces/n/configmaps', body: object })],
]

describe('a leader whose term is over', () => {
  it.each(writes)('sends nothing: %s', async (_verb, write) => {
    const { server, fenced, end } = await lead(json(200, object))
    end()
    await expect(write(fenced)).rejects.toThrow(NotLeaderError)
    expect(server.seen).toEqual([])
  })

  it.each(writes.flatMap(([verb, write]) => [[verb, 429, busy, write] as const, [verb, 503, away, write] as const]))(
    'does not repeat what was answered while it led: %s after %i',
    async (_verb, _status, refused, write) => {
      const { server, clock, fenced, end } = await lead(refused, json(200, object))
      const writing = write(fenced)
      const rejected = expect(writing).rejects.toThrow(NotLeaderError)
      await until(() => clock.sleeping > 1)
      end()
      await clock.advance(21_000)
      await rejected
      expect(server.seen.length).toBe(1)
    },
  )

  it('is heard through each of two fences', async () => {
    const { server, client, clock, term, end } = await lead(busy, json(200, object))
    const twice = fencedClient(fencedClient(client, term), { assertStillLeader: () => undefined })
    const rejected = expect(twice.create(configMaps, object)).rejects.toThrow(NotLeaderError)
    await until(() => clock.sleeping > 1)
    end()
    await clock.advance(21_000)
    await rejected
    expect(server.seen.length).toBe(1)
  })
})

describe('a leader', () => {
  it('repeats as everybody else does', async () => {
    const { server, clock, fenced } = await lead(busy, json(200, object))
    const writing = fenced.create(configMaps, object)
    await until(() => clock.sleeping > 1)
    await clock.advance(21_000)
    await expect(writing).resolves.toEqual(object)
    expect(server.seen.length).toBe(2)
  })

  it('may still read when its term is over', async () => {
    const { fenced, end } = await lead(json(200, object))
    end()
    await expect(fenced.get(configMaps, ref)).resolves.toEqual(object)
  })
})
