import { describe, expect, test } from 'vitest'
import type { NodeObject } from '../kube/index.ts'
import { cordonPatch, type NodePatch, restorePatch } from './cordon.ts'
import { isLabelKey } from './marks.ts'

const since = '2026-03-01T10:00:00.123Z'
const claim = { request: 'r', token: 1, since }
const seconds = '2026-03-01T10:00:00Z'
const kured = {
  inProgress: 'weave.works/kured-reboot-in-progress',
  needed: 'weave.works/kured-most-recent-reboot-needed',
}

const fresh: NodeObject = { metadata: { name: 'n', uid: 'u', resourceVersion: '1' }, spec: {} }

/** As the API server applies a merge patch: null takes a field away. */
function apply(node: NodeObject, patch: NodePatch | undefined): NodeObject {
  const merged = (of: 'labels' | 'annotations') =>
    Object.fromEntries(
      Object.entries({ ...node.metadata[of], ...patch?.metadata[of] }).filter(
        (pair): pair is [string, string] => pair[1] !== null,
      ),
    )
  const isOut = (patch?.spec ?? node.spec)?.unschedulable === true
  return {
    metadata: { ...node.metadata, labels: merged('labels'), annotations: merged('annotations') },
    spec: isOut ? { unschedulable: true } : {},
  }
}

type Marks = Parameters<typeof restorePatch>[2]
const out = (marks: Marks, node = fresh) => apply(node, cordonPatch(node, 'queue', claim, { marks }))
const back = (node: NodeObject, marks: Marks) => apply(node, restorePatch(node, 'queue', marks))

describe('labels', () => {
  const marks = { labelsWhileOut: { state: 'out', job: 'x' }, labelsAfter: { state: 'back' } }

  test('come with the cordon, and stay until those that come afterwards overwrite them', () => {
    const node = out(marks)
    expect(node.metadata.labels).toEqual({ state: 'out', job: 'x' })
    expect(back(node, marks).metadata.labels).toEqual({ state: 'back', job: 'x' })
  })

  test('go with the cordon when the setting went meanwhile, but for those that somebody changed', () => {
    const node = out(marks)
    expect(back(node, {}).metadata.labels).toEqual({})
    const changed = { ...node, metadata: { ...node.metadata, labels: { state: 'by hand', job: 'x' } } }
    expect(back(changed, undefined).metadata.labels).toEqual({ state: 'by hand' })
  })

  test('of the cluster itself are not removed because of a note that a kubelet could have written', () => {
    const role = 'node-role.kubernetes.io/control-plane'
    const forged = JSON.stringify({ ...claim, labels: { [role]: '', own: 'x' } })
    const node: NodeObject = {
      metadata: {
        ...fresh.metadata,
        labels: { [role]: '', own: 'x' },
        annotations: { 'cordon.fettle.dev/queue': forged },
      },
    }
    expect(back(node, {}).metadata.labels).toEqual({ [role]: '' })
  })

  test('that the API server would refuse are left out: they would keep the node from leaving or coming back', () => {
    const bad = { 'two words': 'x', 'a/b/c': 'x', good: 'not good', '-x': 'y', 'ok.io/x': 'y' }
    expect(out({ labelsWhileOut: bad }).metadata.labels).toEqual({ 'ok.io/x': 'y' })
    expect(back(out({}), { labelsAfter: bad }).metadata.labels).toEqual({ 'ok.io/x': 'y' })
  })
})

describe('annotations as other programs write them', () => {
  test('of kured and Kustodian come with the cordon; what says in progress goes with it, the last time stays', () => {
    const marks = { annotationsOf: ['Kured', 'Kustodian'] as ('Kured' | 'Kustodian')[] }
    const node = out(marks)
    expect(node.metadata.annotations).toMatchObject({
      [kured.inProgress]: seconds,
      [kured.needed]: seconds,
      'k8s.io/maintenance-in-progress': seconds,
      'k8s.io/most-recent-maintenance-needed': seconds,
    })
    expect(back(node, marks).metadata.annotations).toEqual({
      [kured.needed]: seconds,
      'k8s.io/most-recent-maintenance-needed': seconds,
    })
  })

  test('go although nobody wants them any more', () => {
    const node = back(out({ annotationsOf: ['Kured'] }), {})
    expect(node.metadata.annotations).toEqual({ [kured.needed]: seconds })
  })

  test('that were there before are not ours, and stay', () => {
    const theirs = { ...fresh, metadata: { ...fresh.metadata, annotations: { [kured.inProgress]: 'theirs' } } }
    const node = out({ annotationsOf: ['Kured'] }, theirs)
    expect(node.metadata.annotations?.[kured.inProgress]).toBe('theirs')
    expect(back(node, { annotationsOf: ['Kured'] }).metadata.annotations?.[kured.inProgress]).toBe('theirs')
  })

  test('also go when another owner keeps the node', () => {
    const node = out({ annotationsOf: ['Kured'], labelsWhileOut: { a: 'b' } })
    const both = apply(node, cordonPatch(node, 'profile-x', claim))
    const left = back(both, { labelsAfter: { a: 'c' } })
    expect(left.spec?.unschedulable).toBe(true)
    expect(left.metadata.annotations).not.toHaveProperty([kured.inProgress])
    expect(left.metadata.labels).toEqual({ a: 'c' })
  })
})

test('a note that cannot be read takes nothing away', () => {
  for (const text of ['{', 'null', '7', '{"labels":[],"annotations":"x"}']) {
    const annotations = { 'cordon.fettle.dev/queue': text, [kured.inProgress]: 'theirs' }
    expect(back({ metadata: { ...fresh.metadata, annotations } }, {}).metadata.annotations).toEqual({
      [kured.inProgress]: 'theirs',
    })
  }
})

test('a cordon that was taken over remembers what the node was before somebody else took it', () => {
  const cordoned = { ...fresh, spec: { unschedulable: true } }
  const node = apply(cordoned, cordonPatch(cordoned, 'queue', claim, { wasUnschedulable: false }))
  expect(back(node, {}).spec).toEqual({})
})

test.for([
  ['maintenance', true],
  ['example.com/maintenance', true],
  ['Example.com/x', false],
  ['', false],
  ['a/', false],
  [`${'x.'.repeat(126)}x/y`, true],
  [`${'x.'.repeat(127)}x/y`, false],
  [`${'x'.repeat(64)}`, false],
] as const)('%s as a key: %s', ([key, isValid]) => {
  expect(isLabelKey(key)).toBe(isValid)
})
