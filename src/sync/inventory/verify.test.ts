import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Inventory, Member } from '../inventory-record.ts'
import { keyId } from '../key.ts'
import type { Observation, ObservedObject, UnknownKind } from '../observed.ts'
import { partOfLabel } from './apply-set.ts'
import { verifyInventory } from './verify.ts'

const setId = 'applyset-ours-v1'
const key = { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'a' }
const reference = { bodyHash: 'b', setHash: 's', valueHash: 'v', existsOnly: [] }
const recorded: Member = { key, uid: 'uid-1', apiVersion: 'v1', reference, revision: 'c0ffee' }
const { uid: _, reference: __, ...announced } = recorded
const wide: Member = { ...recorded, key: { group: 'g', kind: 'ClusterThing', namespace: '', name: 'a' } }
const owner = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'uid-9' }

const object = (
  more: Partial<ObservedObject> = {},
  labels: Record<string, string> = { [partOfLabel]: setId },
): ObservedObject => ({
  key,
  uid: 'uid-1',
  apiVersion: 'v1',
  metadata: { labels },
  ...more,
})
const copy = object({ metadata: { labels: { [partOfLabel]: setId }, ownerReferences: [owner] } })
const service = object({ key: { ...key, kind: 'Service' }, uid: 'uid-s' }, {})
const endpoints = object({ key: { ...key, kind: 'Endpoints' }, uid: 'uid-e' })
/** What every namespace has: it was looked at. */
const rootCa = object({ key: { ...key, name: 'kube-root-ca.crt' }, uid: 'uid-ca' }, {})
const other = { [partOfLabel]: 'applyset-theirs-v1' }

const inventoryOf = (...members: Member[]): Inventory => ({
  members,
  strangers: { u: 't' },
  verdicts: [],
  approvals: [],
  deletions: [],
})
const seen = (objects: readonly ObservedObject[], unknown: readonly UnknownKind[] = []): Observation => ({
  objects,
  unknown,
})

test.for<[string, readonly Member[], Observation, readonly Member[], readonly RegExp[]]>([
  ['as recorded', [recorded], seen([rootCa, object()]), [recorded], []],
  ['gone', [recorded], seen([rootCa]), [], [/ConfigMap shop\/a: is gone; forgotten/]],
  ['announced and never made', [announced], seen([rootCa]), [], [/never made; forgotten/]],
  [
    'announced and made',
    [announced],
    seen([rootCa, object()]),
    [{ ...announced, uid: 'uid-1' }],
    [/UID not recorded; recorded now/],
  ],
  [
    'announced, and something without our label is there',
    [announced],
    seen([rootCa, object({}, {})]),
    [],
    [/does not carry our label; forgotten/],
  ],
  [
    'of a kind that could not be listed',
    [recorded],
    seen([rootCa], [{ group: '', kind: 'ConfigMap', why: 'forbidden' }]),
    [recorded],
    [/cannot be looked for: forbidden; kept/],
  ],
  [
    'of a group that did not answer',
    [recorded],
    seen([rootCa], [{ group: '', why: 'stale' }]),
    [recorded],
    [/stale; kept/],
  ],
  [
    'gone, while another kind of its group is unknown',
    [recorded],
    seen([rootCa], [{ group: '', kind: 'Secret', why: 'forbidden' }]),
    [],
    [/gone/],
  ],
  ['in a namespace that was not looked at', [recorded], seen([]), [recorded], [/nothing was seen at all; kept/]],
  [
    'of the whole cluster, of a kind that was not looked at',
    [wide],
    seen([rootCa]),
    [wide],
    [/nothing was seen at all; kept/],
  ],
  ['of the whole cluster and gone', [wide], seen([object({ key: { ...wide.key, name: 'b' } }, {})]), [], [/gone/]],
  [
    'made anew with our label',
    [recorded],
    seen([rootCa, object({ uid: 'uid-2' })]),
    [{ ...announced, uid: 'uid-2' }],
    [/made anew, with our label/],
  ],
  [
    'replaced by something without our label',
    [recorded],
    seen([rootCa, object({ uid: 'uid-2' }, {})]),
    [],
    [/has its name now does not carry our label; forgotten/],
  ],
  ['taken by another set', [recorded], seen([rootCa, object({}, other)]), [], [/another set; forgotten/]],
  ['without its label', [recorded], seen([rootCa, object({}, {})]), [recorded], [/lost our label/]],
  [
    'labelled and not recorded',
    [],
    seen([rootCa, object()]),
    [{ key, uid: 'uid-1', apiVersion: 'v1' }],
    [/was not recorded; recorded now/],
  ],
  ['labelled, not recorded, and a copy that a controller made', [], seen([rootCa, copy]), [], []],
  ['the Endpoints of a Service, with its labels', [], seen([rootCa, service, endpoints]), [], []],
  [
    'Endpoints without a Service, labelled and not recorded',
    [],
    seen([rootCa, endpoints]),
    [{ key: endpoints.key, uid: 'uid-e', apiVersion: 'v1' }],
    [/was not recorded; recorded now/],
  ],
  [
    'replaced by a copy that a controller made',
    [recorded],
    seen([rootCa, { ...copy, uid: 'uid-2' }]),
    [],
    [/has its name now belongs to Service web; forgotten/],
  ],
  [
    'announced, and a copy that a controller made is there',
    [announced],
    seen([rootCa, copy]),
    [],
    [/what is there belongs to Service web; forgotten/],
  ],
  ['the recorded one, and got an owner since', [recorded], seen([rootCa, copy]), [recorded], []],
  ['labelled by another set and not recorded', [], seen([rootCa, object({}, other)]), [], []],
])('a member that is %s', ([, members, observed, expected, sentences]) => {
  const { findings, repaired } = verifyInventory(inventoryOf(...members), observed, setId)
  expect(repaired).toEqual(inventoryOf(...expected))
  expect(findings).toEqual(sentences.map((sentence) => expect.stringMatching(sentence)))
})

test('whatever was found, a second look finds nothing more to repair', () => {
  const names = fc.constantFrom('a', 'b', 'c')
  const uids = fc.constantFrom('uid-1', 'uid-2')
  const member = fc
    .record({ name: names, uid: fc.option(uids, { nil: undefined }) })
    .map(
      ({ name, uid }): Member => ({ key: { ...key, name }, apiVersion: 'v1', ...(uid === undefined ? {} : { uid }) }),
    )
  const live = fc
    .record({ name: names, uid: uids, labels: fc.constantFrom({}, other, { [partOfLabel]: setId }) })
    .map(({ name, uid, labels }) => object({ key: { ...key, name }, uid }, labels))
  const unknown: fc.Arbitrary<UnknownKind[]> = fc.constantFrom([], [{ group: '', kind: 'ConfigMap', why: 'forbidden' }])
  const byKey = { selector: (one: { readonly key: Member['key'] }) => keyId(one.key) }
  fc.assert(
    fc.property(fc.uniqueArray(member, byKey), fc.uniqueArray(live, byKey), unknown, (members, objects, gaps) => {
      const observed = seen([rootCa, ...objects], gaps)
      const { repaired } = verifyInventory(inventoryOf(...members), observed, setId)
      expect(verifyInventory(repaired, observed, setId).repaired).toEqual(repaired)
      // All that carries our label is recorded, by the UID that it has.
      const ours = objects.filter(({ metadata }) => metadata.labels?.[partOfLabel] === setId)
      for (const { key, uid } of ours) expect(repaired.members).toContainEqual(expect.objectContaining({ key, uid }))
    }),
  )
})
