import { describe, expect, test } from 'vitest'
import { type KubeClient, type Lease, resources } from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { SyncLeaseHeld, type SyncLeaseOptions, withSyncLease } from './sync-lease.ts'

const ref = { namespace: 'shop', name: 'fettle-sync-shop' }
const options: SyncLeaseOptions = { identity: 'me', random: () => 0 }
const secret = { metadata: { name: 'one', namespace: 'shop' } }

function stage() {
  const cluster = new MemoryCluster()
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  const stop = new AbortController()
  const enter = <T>(
    run: (client: KubeClient, signal: AbortSignal, term: { readonly token: number }) => Promise<T>,
    more: SyncLeaseOptions = {},
    client = cluster.client(),
  ) => {
    const end: { value?: T; error?: unknown; isOver: boolean } = { isOver: false }
    withSyncLease(client, ref, clock, stop.signal, run, { ...options, ...more }).then(
      (value) => Object.assign(end, { value, isOver: true }),
      (error: unknown) => Object.assign(end, { error, isOver: true }),
    )
    return end
  }
  const lease = () => cluster.objects.get('leases/shop/fettle-sync-shop') as Lease | undefined
  return { cluster, clock, stop, enter, lease }
}

/** Work that lasts until it is told to stop. */
const untilStopped = (_: KubeClient, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )

describe('the only writer', () => {
  test('begins at once on a new cluster, gives the answer of its work, and leaves the Lease free for the next', async () => {
    const { clock, enter, lease } = stage()
    const first = enter((_client, _signal, { token }) => Promise.resolve(token))
    await clock.advance(0)
    expect(first.value).toBeGreaterThan(0)
    expect(lease()?.spec?.holderIdentity).toBe('')
    const second = enter((_client, _signal, { token }) => Promise.resolve(token))
    await clock.advance(0)
    expect(second.value).toBeGreaterThan(first.value ?? 0)
  })

  test('writes a Lease of 15 s, and renews it every 2 s', async () => {
    const { clock, enter, lease, stop } = stage()
    enter(untilStopped)
    await clock.advance(1_999)
    expect(lease()?.spec).toMatchObject({ leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' })
    await clock.advance(1)
    expect(lease()?.spec?.renewTime).toBe('2026-01-01T00:00:02.000000Z')
    stop.abort(new Error('enough'))
    await clock.advance(0)
    expect(lease()?.spec?.holderIdentity).toBe('')
  })

  test('fails as its work fails, and leaves the Lease free', async () => {
    const { clock, enter, lease } = stage()
    const end = enter(() => Promise.reject(new Error('no such branch')))
    await clock.advance(0)
    expect(end.error).toEqual(new Error('no such branch'))
    expect(lease()?.spec?.holderIdentity).toBe('')
  })

  test('waits for a lease duration when the Lease is gone but something is remembered: its holder may not know', async () => {
    const { cluster, clock, enter } = stage()
    await cluster.client().create(resources.secrets, { metadata: { ...ref } })
    const end = enter(() => Promise.resolve('done'))
    await clock.advance(14_999)
    expect(end.isOver).toBe(false)
    await clock.advance(5_000)
    expect(end.value).toBe('done')
  })
})

describe('a second writer', () => {
  test('is told at once who is at work, and since when', async () => {
    const { clock, enter } = stage()
    enter(untilStopped)
    await clock.advance(4_000)
    const second = enter(() => Promise.resolve('never'), { identity: 'other' })
    await clock.advance(0)
    expect(second.error).toBeInstanceOf(SyncLeaseHeld)
    expect(second.error).toMatchObject({
      code: 'SyncLeaseHeld',
      holder: 'me_00000000',
      since: '2026-01-01T00:00:00.000000Z',
      message: expect.stringMatching(
        /^me_00000000 is at work on this Sync since 2026-01-01T00:00:00.000000Z .*shop\/fettle-sync-shop/,
      ),
    })
  })

  test('waits if it was told to, and begins when the first has ended', async () => {
    const { clock, enter } = stage()
    let finish: (value: string) => void = () => undefined
    enter(() => new Promise<string>((resolve) => (finish = resolve)))
    await clock.advance(0)
    const second = enter(() => Promise.resolve('second'), { identity: 'other', wait: true })
    await clock.advance(120_000)
    expect(second.isOver).toBe(false)
    finish('first')
    await clock.advance(3_000)
    expect(second.value).toBe('second')
  })

  test('that comes in the same moment is refused after a few seconds', async () => {
    const { clock, enter } = stage()
    const [one, other] = [enter(untilStopped), enter(untilStopped, { identity: 'other' })]
    await clock.advance(6_000)
    expect([one, other].filter(({ isOver }) => isOver)).toMatchObject([{ error: { code: 'SyncLeaseHeld' } }])
  })

  test('takes over from one that died long ago, after it has watched for a whole duration', async () => {
    const { cluster, clock, enter } = stage()
    const spec = {
      holderIdentity: 'dead',
      leaseDurationSeconds: 15,
      renewTime: '2025-12-31T00:00:00.000000Z',
      leaseTransitions: 3,
    }
    await cluster.client().create(resources.leases, { metadata: { ...ref }, spec } as Lease)
    const end = enter(() => Promise.resolve('done'))
    await clock.advance(14_999)
    expect(end.isOver).toBe(false)
    await clock.advance(5_000)
    expect(end.value).toBe('done')
  })

  test('gives up on one whose clock is wrong but who lives', async () => {
    const { cluster, clock, enter } = stage()
    const spec = {
      holderIdentity: 'alive',
      leaseDurationSeconds: 15,
      renewTime: '2025-12-31T00:00:00.000000Z',
      leaseTransitions: 3,
    }
    await cluster.client().create(resources.leases, { metadata: { ...ref }, spec } as Lease)
    const end = enter(() => Promise.resolve('never'))
    for (let second = 0; second < 40; second++) {
      const renewTime = `2025-12-31T00:00:${String(second + 10)}.000000Z`
      cluster.edit<Lease>(resources.leases, ref, (lease) => ({ ...lease, spec: { ...lease.spec, renewTime } }))
      await clock.advance(1_000)
    }
    expect(end.error).toMatchObject({ code: 'SyncLeaseHeld', holder: 'alive' })
  })
})

describe('requests that fail', () => {
  test.for<[string, string]>([
    ['read', 'get'],
    ['made', 'create'],
    ['taken', 'replace'],
  ])('a Lease that may not be %s is told as that, not as held by somebody', async ([, verb]) => {
    const { cluster, clock, enter } = stage()
    const client = cluster.client((_, what) => (what.startsWith(`${verb} leases`) ? 'forbidden' : 'answered'))
    const end = enter(() => Promise.resolve('never'), {}, client)
    await clock.advance(0)
    expect(end.error).toMatchObject({ code: 'Forbidden' })
  })

  test('an answer that is late is waited for again', async () => {
    const { cluster, clock, enter } = stage()
    let isFirst = true
    const client = cluster.client((_, what) => {
      if (!what.startsWith('replace') || !isFirst) return 'answered'
      isFirst = false
      return 'hangs'
    })
    const end = enter(() => Promise.resolve('done'), { wait: true }, client)
    await clock.advance(3_000)
    expect(end.isOver).toBe(false)
    await clock.advance(10_000)
    expect(end.value).toBe('done')
  })
})

describe('a lost Lease', () => {
  test('stops the work, refuses its writes, and does not begin again', async () => {
    const { cluster, clock, enter } = stage()
    let runs = 0
    const late: unknown[] = []
    const end = enter(async (client, signal) => {
      runs++
      await client.create(resources.secrets, secret)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      await client.replace(resources.secrets, secret).catch((error: unknown) => late.push(error))
      throw signal.reason
    })
    await clock.advance(0)
    cluster.edit<Lease>(resources.leases, ref, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'usurper' },
    }))
    await clock.advance(2_000)
    expect(end.error).toMatchObject({ code: 'SyncLeaseLost', message: expect.stringContaining('Run it again') })
    expect(late).toMatchObject([{ code: 'NotLeader' }])
    expect(cluster.seen).not.toContain('replace secrets/one')
    await clock.advance(60_000)
    expect(runs).toBe(1)
  })

  test('is given up 10 s after the last renewal that was heard of', async () => {
    const { cluster, clock, enter } = stage()
    let isCut = false
    const end = enter(
      untilStopped,
      {},
      cluster.client(() => (isCut ? 'lost before' : 'answered')),
    )
    await clock.advance(2_000)
    isCut = true
    await clock.advance(9_999)
    expect(end.isOver).toBe(false)
    await clock.advance(2_001)
    expect(end.error).toMatchObject({ code: 'SyncLeaseLost', message: expect.stringContaining('Run it again') })
  })
})

test('a signal that aborts while it waits ends the waiting with its reason', async () => {
  const { clock, enter, stop } = stage()
  enter(untilStopped)
  await clock.advance(0)
  const second = enter(() => Promise.resolve('never'), { identity: 'other', wait: true })
  await clock.advance(1_000)
  stop.abort(new Error('interrupted'))
  await clock.advance(0)
  expect(second.error).toEqual(new Error('interrupted'))
})

test('a namespace that is not there is named, with what to do', async () => {
  const { cluster, clock, enter } = stage()
  const end = enter(
    () => Promise.resolve('never'),
    {},
    cluster.client((_, what) => (what.startsWith('create') ? 'not found' : 'answered')),
  )
  await clock.advance(0)
  expect(end.error).toMatchObject({
    message: expect.stringMatching(/^namespace shop, .* is not there: create it first/),
  })
})
