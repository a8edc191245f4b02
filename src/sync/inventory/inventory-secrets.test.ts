import { describe, expect, test } from 'vitest'
import { resources } from '../../kube/index.ts'
import { InventorySecrets, type SecretObject } from './inventory-secrets.ts'
import { type Fate, MemoryCluster } from './memory-cluster.ts'

const policy = { name: 'shop', namespaces: ['shop'] }
const ref = { name: 'fettle-sync-shop', namespace: 'shop' }
const { signal } = new AbortController()
const text = (value: string) => ({ state: Buffer.from(value).toString('base64') })

const firstOf = { created: { ...ref, labels: { one: 'a' } }, replaced: undefined }

/** What a first write leaves, and a second one in which each request has its fate. */
async function written(kind: keyof typeof firstOf, fates: readonly Fate[]) {
  const cluster = new MemoryCluster()
  const calm = new InventorySecrets(cluster.client(), policy)
  const metadata = firstOf[kind] ?? (await calm.write({ metadata: ref, data: text('old') }, signal))
  cluster.seen.length = 0
  const client = cluster.client((before) => fates[before] ?? 'answered')
  const written = new InventorySecrets(client, policy).write({ metadata, data: text('new') }, signal)
  return { cluster, written, stored: () => cluster.objects.get('secrets/shop/fettle-sync-shop') as SecretObject }
}

describe('a write whose answer is lost', () => {
  test.for(['created', 'replaced'] as const)('%s: it had arrived, and is not repeated', async (kind) => {
    const { cluster, written: done, stored } = await written(kind, ['answer lost'])
    expect(await done).toMatchObject({ resourceVersion: stored().metadata.resourceVersion })
    expect(stored().data).toEqual(text('new'))
    expect(cluster.seen.map((seen) => seen.split(' ')[0])).toEqual([kind === 'created' ? 'create' : 'replace', 'get'])
  })

  test.for(['created', 'replaced'] as const)('%s: it had not arrived, and is repeated', async (kind) => {
    const { written: done, stored } = await written(kind, ['lost in doubt', 'answered', 'answer lost'])
    expect(await done).toMatchObject({ resourceVersion: stored().metadata.resourceVersion })
    expect(stored().data).toEqual(text('new'))
  })

  test('somebody else has written meanwhile: it is not overwritten', async () => {
    const { cluster, written: done, stored } = await written('replaced', ['lost in doubt'])
    cluster.edit<SecretObject>(resources.secrets, ref, (object) => ({ ...object, data: text('theirs') }))
    await expect(done).rejects.toThrow('was written by somebody else')
    expect(stored().data).toEqual(text('theirs'))
  })

  test('it is not tried for ever', async () => {
    const lost = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'lost in doubt' : 'answered') as Fate)
    const { cluster, written: done } = await written('replaced', lost)
    await expect(done).rejects.toMatchObject({ code: 'UnknownOutcome' })
    expect(cluster.seen).toHaveLength(6)
  })
})
