import { expect, test } from 'vitest'
import { createFor, nodeOf, noon, passOf, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { FixtureLeases } from './fixture-leases.ts'
import { stagger } from './stagger.ts'

const places = { leaseName: 'turn', leaseNamespace: 'ns' } as const

function world(config: { readonly duration: number; readonly parallel?: number }) {
  const leases = new FixtureLeases()
  const check = createFor(stagger, { ...places, ...config })
  /** The profile has been in its state for an hour, unless it came into it later. */
  const at = (node: string, nowMs = noon, transitionMs = noon - 3_600_000, profile = 'p') =>
    passOf({ node: nodeOf(node), nowMs, transitionMs, profile, client: leases.client })
  return {
    leases,
    at,
    passes: async (...parts: Parameters<typeof at>) => (await check.check(at(...parts))).isPassed,
    info: async (...parts: Parameters<typeof at>) => (await check.check(at(...parts))).info,
    take: async (...parts: Parameters<typeof at>) => {
      if (!check.take) throw new Error('stagger takes nothing')
      await check.take(at(...parts))
    },
    holder: (index: number) => leases.stored.get(`ns/turn-${index}`)?.spec?.holderIdentity,
  }
}

const second = 1_000

test('one at a time: whoever has passed and gone on blocks all, itself included', async () => {
  const { passes, take, holder, info } = world({ duration: 3 * second })
  expect(await passes('n1')).toBe(true)
  await take('n1')
  // The transition was carried out, so that the profile is in its new state since then.
  expect(await passes('n1', noon + 1, noon)).toBe(false)
  expect(await passes('n2', noon + 1)).toBe(false)
  expect(await info('n2', noon + second)).toEqual({ availableInSec: [2] })
  expect(holder(0)).toBe('n1')
})

test('after the duration the next one gets the same Lease', async () => {
  const { leases, passes, take } = world({ duration: second })
  await take('n1')
  expect(leases.stored.get('ns/turn-0')?.spec).toEqual({
    holderIdentity: 'n1',
    acquireTime: '2026-03-01T12:00:00.000000Z',
    renewTime: '2026-03-01T12:00:00.000000Z',
    leaseDurationSeconds: 1,
    leaseTransitions: 0,
  })
  expect(await passes('n2', noon + second)).toBe(false)
  expect(await passes('n2', noon + second + 0.25)).toBe(true)
  await take('n2', noon + 2 * second + 0.25)
  expect([...leases.stored.keys()]).toEqual(['ns/turn-0'])
  expect(leases.stored.get('ns/turn-0')?.spec).toEqual({
    holderIdentity: 'n2',
    acquireTime: '2026-03-01T12:00:02.000250Z',
    renewTime: '2026-03-01T12:00:02.000250Z',
    leaseDurationSeconds: 1,
    leaseTransitions: 1,
  })
})

test('two in parallel', async () => {
  const { passes, take, holder, info } = world({ duration: 3 * second, parallel: 2 })
  expect(await passes('n1')).toBe(true)
  await take('n1')
  expect(await passes('n2')).toBe(true)
  await take('n2', noon + second)
  expect([holder(0), holder(1)]).toEqual(['n1', 'n2'])
  expect(await info('n3', noon + second)).toEqual({ availableInSec: [2, 3] })
})

test('looking changes nothing, however often', async () => {
  const { leases, passes } = world({ duration: second })
  for (const node of ['n1', 'n2', 'n1']) expect(await passes(node)).toBe(true)
  expect(leases.writes).toBe(0)
})

test('a Lease that the original left free is free, and is taken with its count', async () => {
  const { leases, passes, take } = world({ duration: 3 * second })
  const past = new Date(noon - 6 * second).toISOString()
  leases.put({
    metadata: { namespace: 'ns', name: 'turn-0' },
    spec: { holderIdentity: 'n9', acquireTime: past, renewTime: past, leaseDurationSeconds: 3 },
  })
  expect(await passes('n1')).toBe(true)
  await take('n1')
  expect(leases.stored.get('ns/turn-0')?.spec).toMatchObject({ holderIdentity: 'n1', leaseTransitions: 0 })
})

test('what is stored says how long, not what the file says now', async () => {
  const { leases, passes } = world({ duration: second })
  const renewTime = new Date(noon - 5 * second).toISOString()
  leases.put({
    metadata: { namespace: 'ns', name: 'turn-0' },
    spec: { holderIdentity: 'n9', renewTime, leaseDurationSeconds: 60 },
  })
  expect(await passes('n1')).toBe(false)
})

test.for([
  ['nothing at all', {}, true],
  ['a holder alone', { holderIdentity: 'n9' }, true],
  [
    'no time of renewal',
    { holderIdentity: 'n9', acquireTime: new Date(noon).toISOString(), leaseDurationSeconds: 9 },
    false,
  ],
  ['no duration', { holderIdentity: 'n9', renewTime: new Date(noon).toISOString() }, false],
] as const)('a Lease with %s is no fault', async ([, spec, isPassed]) => {
  const { leases, passes } = world({ duration: 3 * second })
  leases.put({ metadata: { namespace: 'ns', name: 'turn-0' }, spec })
  expect(await passes('n1')).toBe(isPassed)
})

test('a transition that is not carried out yet is not blocked by its own Lease, and takes no second one', async () => {
  const { leases, passes, take, holder } = world({ duration: 60 * second, parallel: 2 })
  await take('n1')
  expect(await passes('n1', noon + second)).toBe(true)
  await take('n1', noon + second)
  expect(leases.writes).toBe(1)
  expect([holder(0), holder(1)]).toEqual(['n1', undefined])
})

test('its own Lease that ran out is taken anew, or others would take it for free', async () => {
  const { leases, passes, take } = world({ duration: second })
  await take('n1')
  await take('n1', noon + 5 * second)
  expect(leases.writes).toBe(2)
  expect(await passes('n2', noon + 5 * second)).toBe(false)
})

test('another profile of the same node is another one', async () => {
  const { passes, take } = world({ duration: 60 * second })
  await take('n1')
  expect(await passes('n1', noon + 1, undefined, 'q')).toBe(false)
  await expect(take('n1', noon + 1, undefined, 'q')).rejects.toThrow(
    'other nodes have taken all Leases of ns that were free: turn-0',
  )
})

test('a node of the same name that was created anew is another one', async () => {
  const { leases, passes, take } = world({ duration: 60 * second })
  await take('n1')
  const anew = { ...nodeOf('n1'), metadata: { ...nodeOf('n1').metadata, uid: 'another' } }
  const pass = passOf({ node: anew, nowMs: noon + 1, transitionMs: noon - 3_600_000, client: leases.client })
  expect(await createFor(stagger, { ...places, duration: 60 * second }).check(pass)).toMatchObject({ isPassed: false })
  expect(await passes('n1', noon + 1)).toBe(true)
})

test.for([false, true])('of two at once one wins (the Lease exists: %s)', async (exists) => {
  const { leases, passes, take, holder } = world({ duration: 3 * second })
  if (exists) leases.put({ metadata: { namespace: 'ns', name: 'turn-0' }, spec: {} })
  expect([await passes('n1'), await passes('n2')]).toEqual([true, true])
  leases.beforeWrite = () => take('n2')
  await expect(take('n1')).rejects.toThrow('other nodes have taken all Leases')
  expect(holder(0)).toBe('n2')
})

test('whoever comes second takes the next Lease that is free', async () => {
  const { leases, take, holder } = world({ duration: 3 * second, parallel: 2 })
  leases.beforeWrite = () => take('n2')
  await take('n1')
  expect([holder(0), holder(1)]).toEqual(['n2', 'n1'])
})

test('parallel 0 never passes', async () => {
  const { passes, take } = world({ duration: second, parallel: 0 })
  expect(await passes('n1')).toBe(false)
  await expect(take('n1')).rejects.toThrow()
})

test('what is hardly meant is a warning', () => {
  expect(warningsFor(stagger, { ...places, duration: second })).toEqual([])
  expect(warningsFor(stagger, { ...places, duration: 500, parallel: 0 })).toEqual([
    'parallel: with parallel 0 the check never passes',
    'duration: a Lease lasts at least 1s, so less than that counts as 1s',
  ])
  expect(problemsFor(stagger, { ...places, parallel: 1_001 })).toEqual([
    'parallel: 1001 is too many; write at most 1000',
  ])
  expect(problemsFor(stagger, places)).toEqual([])
})
