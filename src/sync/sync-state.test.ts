import { expect, test } from 'vitest'
import type { Observation } from './observed.ts'
import { unseen } from './sync-state.ts'

const key = (kind: string, name: string) => ({ group: '', kind, namespace: 'shop', name })
const member = (kind: string, name: string) => ({ key: key(kind, name), apiVersion: 'v1' })

test('what was not seen is missing, unless its kind could not be read', () => {
  const members = [member('ConfigMap', 'there'), member('ConfigMap', 'gone'), member('Secret', 'hidden')]
  const observed = {
    objects: [{ key: key('ConfigMap', 'there') }],
    unknown: [{ group: '', kind: 'Secret', why: 'forbidden' }],
  } as unknown as Observation
  expect(unseen({ members }, observed)).toEqual({
    missing: [key('ConfigMap', 'gone')],
    unknown: [{ key: key('Secret', 'hidden'), why: 'forbidden' }],
  })
})

test('a group that does not answer hides all of its kinds', () => {
  const observed = { objects: [], unknown: [{ group: '', why: 'it does not answer' }] }
  expect(unseen({ members: [member('ConfigMap', 'a')] }, observed)).toEqual({
    missing: [],
    unknown: [{ key: key('ConfigMap', 'a'), why: 'it does not answer' }],
  })
})
