import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freezeComponent } from '../../src/dev/index.ts'
import { connect, resources } from '../../src/kube/index.ts'
import { startByteRelay } from '../support/byte-relay.ts'
import { eventually, prepareGround, timed } from '../support/e2e-cluster.ts'

test('closing a client ends its calls and watches at once, opens nothing again, and leaves no connection', async (context) => {
  const { config, namespace, record, signal } = await prepareGround(context)
  const relay = await startByteRelay(context, record)
  const client = connect({ ...config, server: relay.url }, { component: 'e2e' })
  const read = () => client.get(resources.namespaces, { name: namespace }, { deadlineMs: 10_000 })
  await read()
  const watch = client.watch(resources.nodes, { signal })[Symbol.asyncIterator]()
  await watch.next()
  // Frozen, so that the calls are under way for sure when the client is closed.
  const thaw = await freezeComponent(record, 'kube-apiserver')
  context.onTestFinished(thaw)
  const calls = Promise.all([
    timed(read),
    timed(async () => {
      for (;;) if ((await watch.next()).done) return
    }),
  ])
  await sleep(200)
  client.close()
  const [called, watched] = await calls
  thaw()
  expect(called.error).toMatchObject({ code: 'Closed' })
  expect(watched.error).toBeInstanceOf(Error)
  for (const { ms } of [called, watched]) expect(ms).toBeLessThan(5_000)
  await expect(read()).rejects.toMatchObject({ code: 'Closed' })
  await eventually(() => expect(relay.connections).toBe(0), { withinMs: 10_000 })
})
