import { expect, test } from 'vitest'
import type { Lease, ResourceCache } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { leaseIdentity, OriginalElsewhere } from './original-elsewhere.ts'

function lookAround() {
  const clock = new FakeClock(0)
  const leases = new Map<string, Lease>()
  const wakes: (() => void)[] = []
  let version = 0
  const set = (namespace: string, spec: NonNullable<Lease['spec']>) => {
    leases.set(namespace, { metadata: { name: 'l', namespace, uid: namespace, resourceVersion: `${++version}` }, spec })
    for (const wake of wakes) wake()
  }
  const cache = {
    values: () => leases.values(),
    subscribe: (wake: () => void) => {
      wakes.push(wake)
      return () => undefined
    },
  } as unknown as ResourceCache<Lease>
  return { clock, set, elsewhere: new OriginalElsewhere(cache, 'own', clock) }
}

const original = { holderIdentity: 'maintenance-controller-7d9f_1234', leaseDurationSeconds: 4 }

test('it is found where another namespace than ours has its lease', () => {
  const { elsewhere, set } = lookAround()
  expect(elsewhere.find()).toBeUndefined()
  set('own', original)
  expect(elsewhere.find()).toBeUndefined()
  set('ops', original)
  const holder = 'maintenance-controller-7d9f_1234'
  expect(elsewhere.find()).toEqual({ program: 'maintenance-controller', namespace: 'ops', holder })
})

test('one that gave its lease back is not it', () => {
  const { elsewhere, set } = lookAround()
  set('ops', { ...original, holderIdentity: '' })
  expect(elsewhere.find()).toBeUndefined()
})

test('of two Fettles only the one whose namespace comes later waits', () => {
  const { elsewhere, set } = lookAround()
  const holderIdentity = `${leaseIdentity('fettle-controller-5c4d')}_00ab12cd`
  set('the-later-one', { ...original, holderIdentity })
  expect(elsewhere.find()).toBeUndefined()
  set('an-earlier-one', { ...original, holderIdentity })
  expect(elsewhere.find()).toEqual({ program: 'Fettle', namespace: 'an-earlier-one', holder: holderIdentity })
})

test('it is gone when it was silent for as long as its lease lasts, also while nobody asked, and back with a sign of life', async () => {
  const { clock, elsewhere, set } = lookAround()
  set('ops', original)
  await clock.advance(3_900)
  expect(elsewhere.find()).toBeDefined()
  await clock.advance(200)
  expect(elsewhere.find()).toBeUndefined()
  set('ops', { ...original, renewTime: 'later' })
  expect(elsewhere.find()).toBeDefined()
})
