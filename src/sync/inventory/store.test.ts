import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KubeObject, resources } from '../../kube/index.ts'
import type { Inventory, Member } from '../inventory-record.ts'
import { keyId } from '../key.ts'
import { setIdOf } from './apply-set.ts'
import { type Fate, MemoryCluster } from './memory-cluster.ts'
import { packed } from './record-text.ts'
import { mostShardBytes, shardOf } from './shards.ts'
import { type InventoryOptions, type InventoryStore, openInventory } from './store.ts'

const policy = { name: 'shop', namespaces: ['shop', 'web'] }
const parentRef = { name: 'fettle-sync-shop', namespace: 'shop' }
const shardRef = (index: number) => ({ name: `fettle-sync-shop-inv-${index}`, namespace: 'shop' })
const { signal } = new AbortController()
const keep = { narrow: false, signal }

const nothing: Inventory = { members: [], strangers: {}, verdicts: [], approvals: [], deletions: [] }

/** Hashes and UIDs as long, and as hard to pack, as real ones. */
function member(name: string, more: Partial<Member> = {}): Member {
  const hash = (salt: string) => scramble(`${salt}${name}`).toString('base64url')
  return {
    key: { group: '', kind: 'ConfigMap', namespace: 'shop', name },
    uid: `uid-of-${name}`,
    apiVersion: 'v1',
    reference: { bodyHash: hash('b'), setHash: hash('s'), valueHash: hash('v'), existsOnly: [] },
    from: { path: `apps/${name}.yaml`, document: 1, line: 1 },
    revision: 'c0ffee',
    ...more,
  }
}

const scramble = (text: string) => createHash('sha256').update(text).digest()

const members = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, index) => member(`${prefix}${index}`))
/** Shards that a dozen members fill. */
const small: InventoryOptions = { mostShardBytes: 2_000 }
const namesOf = (inventory: Inventory | undefined) => new Set(inventory?.members.map(({ key }) => key.name))

async function loadedFrom(cluster: MemoryCluster): Promise<Inventory | undefined> {
  return (await openInventory(cluster.client(), policy, '0.1.0').load(signal))?.inventory
}

/** A cluster that holds this, and a store that has read it. */
async function holding(
  inventory: Inventory,
  options: InventoryOptions = {},
): Promise<{ cluster: MemoryCluster; store: InventoryStore }> {
  const cluster = new MemoryCluster()
  const store = openInventory(cluster.client(), policy, '0.1.0', options)
  await store.load(signal)
  await store.save(inventory, keep)
  cluster.seen.length = 0
  return { cluster, store }
}

const full: Inventory = {
  members: [
    member('a', { orphanedAt: '2026-01-01T00:00:00Z', isKept: true }),
    { key: { group: 'apps', kind: 'Deployment', namespace: 'web', name: 'b' }, apiVersion: 'apps/v1' },
  ],
  strangers: { 'uid-1': '2026-01-01T00:00:00Z', 'uid-2': '2026-01-02T00:00:00Z' },
  verdicts: [
    {
      revision: 'c0ffee',
      author: 'A',
      subject: 'B',
      is: 'Applied',
      at: '2026-01-01T00:00:00Z',
      counts: { created: 1 },
    },
  ],
  revision: 'c0ffee',
  digest: 'd',
  approvals: ['p1'],
  openingHash: 'o',
  deletions: ['2026-01-01T00:00:00Z'],
  underway: { planHash: 'p2', revision: 'decaf', since: '2026-01-01T00:00:00Z' },
}

describe('what is saved', () => {
  test('is loaded again, all of it', async () => {
    const { cluster } = await holding(full)
    expect(await loadedFrom(cluster)).toEqual(full)
  })

  test('keeps fields that this version does not know', async () => {
    const later = { ...full, pin: { until: 'x' }, members: [{ ...member('a'), shade: 'new' }] }
    const { cluster } = await holding(later)
    expect(await loadedFrom(cluster)).toEqual(later)
  })

  test('is nothing before the first save, and then has a key and the id of the set', async () => {
    const cluster = new MemoryCluster()
    const store = openInventory(cluster.client(), policy, '0.1.0')
    expect(await store.load(signal)).toBeUndefined()
    await store.save(nothing, keep)
    expect(cluster.seen.filter((request) => request.startsWith('create'))).toEqual(['create secrets/fettle-sync-shop'])
    const loaded = await store.load(signal)
    expect(loaded).toMatchObject({ inventory: nothing, setId: setIdOf({ ...parentRef, kind: 'Secret', group: '' }) })
    expect(loaded?.hashKey).toHaveLength(32)
    // The key never changes: all hashes are made with it.
    await store.save(full, keep)
    expect((await store.load(signal))?.hashKey).toEqual(loaded?.hashKey)
  })

  test('does not depend on the order of members or of their fields, and the last of two records counts', async () => {
    const { cluster, store } = await holding({ ...nothing, members: [member('a'), member('b')] })
    const { key, ...rest } = member('a')
    expect(await store.save({ ...nothing, members: [member('b'), { ...rest, key }] }, keep)).toBe(0)
    expect(cluster.seen).toEqual([])
    await store.save({ ...nothing, members: [member('a', { uid: 'old' }), member('b'), member('a')] }, keep)
    expect(cluster.seen).toEqual([])
  })

  test('is bounded: a hundred verdicts, texts of others cut, deletions of a day', async () => {
    const verdict = {
      revision: 'r',
      author: 'A'.repeat(999),
      subject: 'B'.repeat(999),
      is: 'Failed' as const,
      at: 'now',
    }
    const verdicts = Array.from({ length: 150 }, (_, index) => ({ ...verdict, seconds: index, why: 'C'.repeat(9_999) }))
    const deletions = ['2026-01-01T00:00:00Z', '2026-01-02T11:00:00Z', '2026-01-02T12:00:00Z']
    const { cluster } = await holding({ ...nothing, verdicts, deletions })
    const loaded = await loadedFrom(cluster)
    expect(loaded?.verdicts).toHaveLength(100)
    expect(loaded?.verdicts.at(-1)?.seconds).toBe(149)
    expect(loaded?.verdicts[0]?.author).toMatch(/^A{199}…$/)
    expect(loaded?.verdicts[0]?.subject).toMatch(/^B{299}…$/)
    expect(loaded?.verdicts[0]?.why).toMatch(/^C{1999}…$/)
    expect(loaded?.deletions).toEqual(deletions.slice(1))
  })
})

describe('requests', () => {
  const base = { ...nothing, members: members(40), revision: 'one' }
  test.for<[string, Inventory, readonly string[]]>([
    ['nothing, when nothing changed', base, []],
    ['the parent, for a verdict', { ...base, revision: 'two' }, ['replace secrets/fettle-sync-shop']],
    [
      'one shard, for one member',
      { ...base, members: [member('m0', { uid: 'new' }), ...base.members.slice(1)] },
      ['replace secrets/fettle-sync-shop-inv-0'],
    ],
    [
      'a shard and then the parent, for a member of a new kind',
      {
        ...base,
        members: [...base.members, member('x', { key: { group: '', kind: 'Secret', namespace: 'web', name: 'x' } })],
      },
      ['replace secrets/fettle-sync-shop-inv-0', 'replace secrets/fettle-sync-shop'],
    ],
    [
      'a shard, for a stranger that waits',
      { ...base, strangers: { u: 'now' } },
      ['replace secrets/fettle-sync-shop-inv-0'],
    ],
  ])('a save writes %s', async ([, next, expected]) => {
    const { cluster, store } = await holding(base)
    expect(await store.save(next, keep)).toBe(expected.length)
    expect(cluster.seen).toEqual(expected)
    expect(await loadedFrom(cluster)).toEqual({ ...next, members: expect.any(Array) })
  })

  test('the first save makes the parent with its key, then shards, then says what is in force', async () => {
    const cluster = new MemoryCluster()
    const store = openInventory(cluster.client(), policy, '0.1.0')
    await store.load(signal)
    expect(await store.save(base, keep)).toBe(3)
    expect(cluster.seen).toEqual([
      'list secrets',
      'get secrets/fettle-sync-shop',
      'create secrets/fettle-sync-shop',
      'create secrets/fettle-sync-shop-inv-0',
      'replace secrets/fettle-sync-shop',
    ])
  })

  test('5,000 members are read by one list in less than 150 ms of work, and a change of one writes one shard', async () => {
    const many = { ...nothing, members: members(5_000) }
    const { cluster, store } = await holding(many)
    const sizes = [...cluster.objects.values()].map((object) =>
      Object.values((object as { data?: Record<string, string> }).data ?? {}).reduce(
        (sum, text) => sum + text.length * 0.75,
        0,
      ),
    )
    expect(Math.max(...sizes)).toBeLessThanOrEqual(mostShardBytes)
    await store.load(signal)
    const times: number[] = []
    for (let round = 0; round < 3; round++) {
      cluster.seen.length = 0
      // What others do on the machine is not what is measured: the time of the processor, not of the wall.
      const started = process.cpuUsage()
      expect((await store.load(signal))?.inventory.members).toHaveLength(5_000)
      const { user, system } = process.cpuUsage(started)
      times.push((user + system) / 1_000)
    }
    console.log(`5,000 members in ${sizes.length - 1} shards are read in ${Math.min(...times).toFixed(0)} ms`)
    expect(Math.min(...times)).toBeLessThan(150)
    expect(cluster.seen).toEqual(['list secrets'])
    const changed = many.members.map((one, index) => (index === 77 ? { ...one, uid: 'new' } : one))
    const started = performance.now()
    expect(await store.save({ ...many, members: changed, revision: 'next' }, keep)).toBe(2)
    console.log(`and one change is saved in ${(performance.now() - started).toFixed(0)} ms`)
  })

  test('a shard that grows too large is split, and everything is still there', async () => {
    const { cluster, store } = await holding({ ...nothing, members: members(5) }, small)
    expect(cluster.objects.size).toBe(2)
    const many = { ...nothing, members: members(60) }
    await store.save(many, keep)
    expect(cluster.objects.size).toBeGreaterThan(3)
    expect(namesOf(await loadedFrom(cluster))).toEqual(namesOf(many))
    // It never shrinks: what was split stays split.
    const { size } = cluster.objects
    await store.save({ ...nothing, members: members(1) }, keep)
    expect(cluster.objects.size).toBe(size)
    expect(namesOf(await loadedFrom(cluster))).toEqual(new Set(['m0']))
  })
})

describe('what the parent says of the set', () => {
  const other = member('x', { key: { group: 'apps', kind: 'Deployment', namespace: 'web', name: 'x' } })
  const marksOf = (cluster: MemoryCluster) => cluster.objects.get('secrets/shop/fettle-sync-shop')?.metadata.annotations

  test('grows with its members, and shrinks only when a prune has ended', async () => {
    const { cluster, store } = await holding({ ...nothing, members: [member('a'), other] })
    const wide = {
      'applyset.kubernetes.io/tooling': 'fettle/v0.1.0',
      'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap,Deployment.apps',
      'applyset.kubernetes.io/additional-namespaces': 'web',
    }
    expect(marksOf(cluster)).toEqual(wide)
    await store.save({ ...nothing, members: [member('a')] }, keep)
    expect(marksOf(cluster)).toEqual(wide)
    await store.save({ ...nothing, members: [member('a')] }, { narrow: true, signal })
    expect(marksOf(cluster)).toEqual({
      ...wide,
      'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap',
      'applyset.kubernetes.io/additional-namespaces': '',
    })
  })

  test('stands beside what others wrote on it', async () => {
    const { cluster, store } = await holding({ ...nothing, members: [member('a')] })
    cluster.edit(resources.secrets, parentRef, (secret) => ({
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...secret.metadata.annotations, note: 'mine' } },
    }))
    await store.load(signal)
    await store.save({ ...nothing, revision: 'next' }, keep)
    expect(marksOf(cluster)).toMatchObject({ note: 'mine' })
  })
})

interface Stored extends KubeObject {
  readonly type?: string
  readonly data?: Record<string, string>
}

describe('doubt', () => {
  const relabelled = (labels: Record<string, string>) => (secret: Stored) => ({
    ...secret,
    metadata: { ...secret.metadata, labels: { ...secret.metadata.labels, ...labels } },
  })
  const annotated = (annotations: Record<string, string>) => (secret: Stored) => ({
    ...secret,
    metadata: { ...secret.metadata, annotations },
  })
  const holdingData = (data: Record<string, string>) => (secret: Stored) => ({
    ...secret,
    data: { ...secret.data, ...data },
  })
  const zipped = (value: unknown) => packed(JSON.stringify(value)).toString('base64')
  const gone = () => undefined

  test.for<[string, { name: string; namespace: string }, (secret: Stored) => Stored | undefined, object]>([
    ['a shard that is missing', shardRef(0), gone, { code: 'Damaged', message: /inv-0 .*missing/ }],
    [
      'a shard that is cut off',
      shardRef(0),
      (s) => ({ ...s, data: { members: s.data?.['members']?.slice(0, 40) ?? '' } }),
      { code: 'Damaged', message: /inv-0 .*unpacked/ },
    ],
    ['a shard without data', shardRef(0), (s) => ({ ...s, data: {} }), { code: 'Damaged', message: /inv-0/ }],
    [
      'a shard that holds something else',
      shardRef(0),
      holdingData({ members: zipped({ members: [{ key: 1 }], strangers: {} }) }),
      { code: 'Damaged', message: /members\.0\.key/ },
    ],
    [
      'a shard that is no JSON',
      shardRef(0),
      holdingData({ members: packed('{').toString('base64') }),
      { code: 'Damaged', message: /no JSON/ },
    ],
    [
      'a shard that lost its label',
      shardRef(0),
      relabelled({ 'fettle.dev/sync': 'other' }),
      { code: 'Damaged', message: /missing/ },
    ],
    ['a parent that is gone while shards are there', parentRef, gone, { code: 'Damaged', message: /is gone, but 1/ }],
    ['a parent that cannot be read', parentRef, holdingData({ state: 'AAAA' }), { code: 'Damaged', message: /state/ }],
    [
      'a parent without its key',
      parentRef,
      holdingData({ hashKey: '' }),
      { code: 'Damaged', message: /key for hashes/ },
    ],
    [
      'a parent of a newer version',
      parentRef,
      holdingData({ state: zipped({ format: 2, novel: true }) }),
      { code: 'NewerFormat', message: /format 2/ },
    ],
    [
      'a parent of another tool',
      parentRef,
      annotated({ 'applyset.kubernetes.io/tooling': 'kubectl/v1.32.0' }),
      { code: 'Foreign', message: /kubectl/ },
    ],
    ['a parent of nobody', parentRef, annotated({}), { code: 'Foreign', message: /another tool/ }],
    [
      'a parent of another Sync',
      parentRef,
      relabelled({ 'fettle.dev/sync': 'shopping' }),
      { code: 'Foreign', message: /another Sync: shopping/ },
    ],
    [
      'a parent that was copied here',
      parentRef,
      relabelled({ 'applyset.kubernetes.io/id': 'applyset-x-v1' }),
      { code: 'Foreign', message: /copied/ },
    ],
    ['a Secret of another type', parentRef, (s) => ({ ...s, type: 'Opaque' }), { code: 'Foreign', message: /Opaque/ }],
  ])(
    '%s is a fault, not an empty inventory',
    async ([, ref, change, { code, message }]: [
      string,
      { name: string; namespace: string },
      (secret: Stored) => Stored | undefined,
      { code?: string; message?: RegExp },
    ]) => {
      const { cluster, store } = await holding({ ...nothing, members: [member('a')] })
      cluster.edit<Stored>(resources.secrets, ref, change)
      await expect(store.load(signal)).rejects.toMatchObject({ code, message: expect.stringMatching(message ?? /./) })
      // And nothing is written on such ground.
      await expect(store.save(nothing, keep)).rejects.toMatchObject({ code: 'NotLoaded' })
    },
  )

  test('two Syncs whose names collide refuse each other', async () => {
    const { cluster } = await holding({ ...nothing, members: [member('a')] })
    const collides = openInventory(cluster.client(), { name: 'shop-inv-0', namespaces: ['shop'] }, '0.1.0')
    await expect(collides.load(signal)).rejects.toMatchObject({
      code: 'Foreign',
      message: expect.stringContaining('shop'),
    })
  })

  test('what can still be read is salvaged, and saved it is whole again', async () => {
    const many = { ...nothing, members: members(60), revision: 'one' }
    const { cluster, store } = await holding(many, small)
    cluster.edit<Stored>(resources.secrets, shardRef(0), holdingData({ members: 'AAAA' }))
    cluster.edit<Stored>(resources.secrets, shardRef(1), gone)
    const { inventory, damage } = await store.salvage(signal)
    expect(damage).toHaveLength(2)
    const count = cluster.objects.size
    const left = many.members.filter(({ key }) => shardOf(keyId(key), count) > 1)
    expect(namesOf(inventory)).toEqual(new Set(left.map(({ key }) => key.name)))
    await store.save(inventory, keep)
    expect(namesOf(await loadedFrom(cluster))).toEqual(namesOf(inventory))
  })

  test.for<[string, Record<string, string>]>([
    ['its state', { state: 'AAAA' }],
    ['its key', { hashKey: '' }],
  ])('a parent that lost %s is mended by a save', async ([, data]) => {
    const { cluster, store } = await holding({ ...nothing, members: [member('a')] })
    cluster.edit<Stored>(resources.secrets, parentRef, holdingData(data))
    const { inventory } = await store.salvage(signal)
    expect(await store.save(inventory, keep)).toBe(1)
    expect(namesOf(await loadedFrom(cluster))).toEqual(new Set(['a']))
  })

  test('somebody else is not overruled by a repair', async () => {
    const { cluster, store } = await holding(nothing)
    cluster.edit<Stored>(
      resources.secrets,
      parentRef,
      annotated({ 'applyset.kubernetes.io/tooling': 'kubectl/v1.32.0' }),
    )
    await expect(store.salvage(signal)).rejects.toMatchObject({ code: 'Foreign' })
  })
})

describe('two writers', () => {
  const base = { ...nothing, members: members(20) }
  test.for<[string, Inventory, Inventory]>([
    ['the parent', { ...base, revision: 'mine' }, { ...base, revision: 'theirs' }],
    ['a shard', { ...base, members: members(21) }, { ...base, members: members(22) }],
  ])('the second that writes %s is refused, and has to read first', async ([, mine, theirs]) => {
    const { cluster, store } = await holding(base)
    const other = openInventory(cluster.client(), policy, '0.1.0')
    await other.load(signal)
    await other.save(theirs, keep)
    await expect(store.save(mine, keep)).rejects.toMatchObject({ code: 'Conflict' })
    await expect(store.save(mine, keep)).rejects.toMatchObject({ code: 'NotLoaded' })
    await store.load(signal)
    await store.save(mine, keep)
    expect(namesOf(await loadedFrom(cluster))).toEqual(namesOf(mine))
  })

  test('of two that both are the first, one is refused', async () => {
    const cluster = new MemoryCluster()
    const [one, other] = [openInventory(cluster.client(), policy, '1'), openInventory(cluster.client(), policy, '1')]
    await Promise.all([one.load(signal), other.load(signal)])
    const ends = await Promise.allSettled([one.save(full, keep), other.save(full, keep)])
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await loadedFrom(cluster)).toEqual(full)
  })

  test('one of an earlier term is refused, even if it has just read', async () => {
    const { cluster } = await holding({ ...nothing, revision: 'one' }, { epoch: 7 })
    const early = openInventory(cluster.client(), policy, '0.1.0', { epoch: 6 })
    await early.load(signal)
    await expect(early.save(nothing, keep)).rejects.toMatchObject({ code: 'Deposed' })
    const late = openInventory(cluster.client(), policy, '0.1.0', { epoch: 8 })
    await late.load(signal)
    expect(await late.save({ ...nothing, revision: 'one' }, keep), 'a new term alone is no change').toBe(0)
    expect(await late.save(nothing, keep)).toBe(1)
  })

  test('who asks before deletions learns that somebody else has written', async () => {
    const { cluster, store } = await holding(base)
    expect(await store.whyStop(signal)).toBeUndefined()
    await store.save({ ...base, revision: 'mine' }, keep)
    expect(await store.whyStop(signal)).toBeUndefined()
    const other = openInventory(cluster.client(), policy, '0.1.0')
    await other.load(signal)
    await other.save({ ...base, revision: 'theirs' }, keep)
    expect(await store.whyStop(signal)).toContain('somebody else')
    cluster.edit(resources.secrets, parentRef, () => undefined)
    expect(await store.whyStop(signal)).toContain('somebody else')
  })
})

describe('a person who approves beside a writer', () => {
  const base = { ...nothing, members: members(3), approvals: ['old'] }
  const beside = (cluster: MemoryCluster) => openInventory(cluster.client(), policy, '0.1.0')

  test('reads and writes the parent alone, and keeps the last 20 hashes', async () => {
    const { cluster } = await holding({ ...base, approvals: Array.from({ length: 20 }, (_, index) => `h${index}`) })
    await beside(cluster).approve('new', signal)
    expect(cluster.seen).toEqual(['get secrets/fettle-sync-shop', 'replace secrets/fettle-sync-shop'])
    const { approvals, members: kept } = (await loadedFrom(cluster)) ?? nothing
    expect([approvals.length, approvals[0], approvals.at(-1), kept.length]).toEqual([20, 'h1', 'new', 3])
  })

  test('does not stop the writer, and none of its saves loses what was approved', async () => {
    const { cluster, store } = await holding(base, { epoch: 7 })
    await beside(cluster).approve('new', signal)
    await store.save({ ...base, revision: 'two' }, keep)
    await beside(cluster).approve('newer', signal)
    expect(await store.whyStop(signal)).toBeUndefined()
    await store.save({ ...base, members: members(2), revision: 'three' }, keep)
    expect(await loadedFrom(cluster)).toMatchObject({ revision: 'three', approvals: ['old', 'new', 'newer'] })
    expect(namesOf(await loadedFrom(cluster)).size).toBe(2)
  })

  test('is not undone by a term that began before it', async () => {
    const { cluster } = await holding(base, { epoch: 7 })
    await beside(cluster).approve('new', signal)
    const late = openInventory(cluster.client(), policy, '0.1.0', { epoch: 6 })
    await late.load(signal)
    await expect(late.save({ ...base, revision: 'late' }, keep)).rejects.toMatchObject({ code: 'Deposed' })
  })

  test('hides nothing else that somebody wrote', async () => {
    const { cluster, store } = await holding(base)
    const other = beside(cluster)
    await other.load(signal)
    await other.save({ ...base, revision: 'theirs' }, keep)
    await other.approve('new', signal)
    expect(await store.whyStop(signal)).toContain('somebody else')
    await expect(store.save({ ...base, revision: 'mine' }, keep)).rejects.toMatchObject({ code: 'Conflict' })
    expect(await loadedFrom(cluster)).toMatchObject({ revision: 'theirs', approvals: ['old', 'new'] })
  })

  test('tries again when the writer is quicker', async () => {
    const { cluster } = await holding(base)
    let isBeaten = false
    const client = cluster.client((_, what) => {
      if (what.startsWith('replace') && !isBeaten) {
        isBeaten = true
        cluster.edit(resources.secrets, parentRef, (parent) => parent)
      }
      return 'answered'
    })
    await openInventory(client, policy, '0.1.0').approve('new', signal)
    expect(isBeaten).toBe(true)
    expect(await loadedFrom(cluster)).toMatchObject({ approvals: ['old', 'new'] })
  })
})

describe('a crash at any request', () => {
  const before = { ...nothing, members: members(12), revision: 'one' }
  const after = {
    ...nothing,
    // Some go, some stay, some change, many come: shards are split under way.
    members: [...members(12).slice(4), ...members(60, 'new')].map((one, index) =>
      index % 7 === 0 ? { ...one, uid: 'changed' } : one,
    ),
    revision: 'two',
  }
  const cases: readonly [string, Inventory, Inventory][] = [
    ['the first save', nothing, before],
    ['members that come and go, with a split', before, after],
    [
      'members that come and go, without a split',
      { ...nothing, members: members(12) },
      { ...nothing, members: [...members(5), ...members(9, 'x')] },
    ],
    ['members that all go', before, nothing],
    ['a few of many shards', after, { ...after, members: [...after.members.slice(9), ...members(9, 'late')] }],
  ]
  const fates: readonly Fate[] = ['lost before', 'answer lost']

  test.for(cases.flatMap(([title, from, to]) => fates.map((fate) => [title, fate, from, to] as const)))(
    '%s, the request is %s: no member is ever lost, and the next save ends well',
    async ([title, fate, from, to]) => {
      const calm = await prepared(from)
      const { size } = calm.objects
      const { length: requests } = await crashing(calm, to, () => 'answered')
      expect(requests).toBeGreaterThan(1)
      expect(calm.objects.size > size).toBe(title === 'the first save' || title.endsWith('with a split'))
      for (let point = 0; point < requests; point++) {
        const cluster = await prepared(from)
        await crashing(cluster, to, (count) => (count < point ? 'answered' : count === point ? fate : 'lost before'))
        await expectNothingLost(cluster, from, to)
      }
    },
  )

  test('the same, whichever of the requests got through after the first that failed', async () => {
    const late = { ...after, members: [...after.members.slice(9), ...members(9, 'late')], revision: 'three' }
    const script = fc.array(fc.constantFrom<Fate>('answered', ...fates), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom([before, after] as const, [after, late] as const),
        script,
        async ([from, to], fate) => {
          const cluster = await prepared(from)
          await crashing(cluster, to, (count) => fate[count] ?? 'lost before')
          await expectNothingLost(cluster, from, to)
        },
      ),
      { numRuns: 60 },
    )
  })

  async function prepared(from: Inventory): Promise<MemoryCluster> {
    const cluster = new MemoryCluster()
    if (from !== nothing) await crashing(cluster, from, () => 'answered')
    return cluster
  }

  /** The writes of one save, of which some go wrong. */
  async function crashing(
    cluster: MemoryCluster,
    to: Inventory,
    fate: (count: number) => Fate,
  ): Promise<readonly string[]> {
    let isReading = true
    let writes = 0
    const store = openInventory(
      cluster.client(() => (isReading ? 'answered' : fate(writes++))),
      policy,
      '0.1.0',
      small,
    )
    await store.load(signal)
    isReading = false
    cluster.seen.length = 0
    await store.save(to, keep).catch(() => undefined)
    return [...cluster.seen]
  }

  async function expectNothingLost(cluster: MemoryCluster, from: Inventory, to: Inventory): Promise<void> {
    const found = (await loadedFrom(cluster)) ?? nothing
    const [had, wants, has] = [namesOf(from), namesOf(to), namesOf(found)]
    expect([...had].filter((name) => wants.has(name) && !has.has(name))).toEqual([])
    expect([...has].filter((name) => !had.has(name) && !wants.has(name))).toEqual([])
    // Either nothing has gone yet, or all that comes is there.
    const isAllOf = (names: ReadonlySet<string>) => [...names].every((name) => has.has(name))
    expect(isAllOf(had) || isAllOf(wants)).toBe(true)
    // A commit is in force only when all of its members are recorded.
    if (found.revision === to.revision && to.revision !== from.revision)
      expect(found).toEqual({ ...to, members: expect.any(Array) })
    await crashing(cluster, to, () => 'answered')
    const healed = await loadedFrom(cluster)
    expect(namesOf(healed)).toEqual(wants)
    expect(new Map(healed?.members.map(({ key, uid }) => [key.name, uid]))).toEqual(
      new Map(to.members.map(({ key, uid }) => [key.name, uid])),
    )
  }
})
