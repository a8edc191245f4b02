import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { connectThroughProxy, prepareGround } from '../support/e2e-cluster.ts'
import { createConfigMaps, ourLabel, removeConfigMap } from '../support/e2e-config-maps.ts'

test('a list comes in pages of one snapshot: nothing twice, nothing missing, though objects go in between', async (context) => {
  const ground = await prepareGround(context)
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  await createConfigMaps(ground, names)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const pages: (readonly string[])[] = []
  const list = client.list(resources.configMaps, { namespace: ground.namespace, labelSelector: ourLabel, pageSize: 3 })
  for await (const page of list) {
    pages.push(page.items.map((item) => item.metadata.name ?? ''))
    if (pages.length === 1) await removeConfigMap(ground, 'e')
  }
  expect(pages).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']])
  expect(proxy.counts.get('GET 200')).toBe(3)
})

test('a continue token that the server no longer keeps ends the list with Gone', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['a', 'b', 'c'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 410, count: 1, matches: ({ path }) => path.includes('continue=') })
  const seen: number[] = []
  const walk = async () => {
    for await (const page of client.list(resources.configMaps, {
      namespace: ground.namespace,
      labelSelector: ourLabel,
      pageSize: 2,
    }))
      seen.push(page.items.length)
  }
  await expect(walk()).rejects.toMatchObject({ code: 'Gone', kind: 'retryable' })
  expect(seen).toEqual([2])
})
