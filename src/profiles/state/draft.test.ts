import { expect, test } from 'vitest'
import type { NodeObject } from '../../kube/index.ts'
import type { NodeDraft } from '../plugin.ts'
import { draftOf, patchOf, remember } from './draft.ts'

const node: NodeObject = {
  metadata: {
    name: 'n1',
    uid: 'u1',
    resourceVersion: '7',
    labels: { a: '1', b: '2' },
    annotations: { x: '1' },
    finalizers: ['f'],
  },
  spec: { unschedulable: true },
}

const change = (edit: (draft: NodeDraft) => void) => {
  const draft = draftOf(node)
  edit(draft)
  return draft
}

test.for<[string, (draft: NodeDraft) => void, object | undefined]>([
  ['nothing', () => undefined, undefined],
  [
    'something that is put back',
    (draft) => {
      delete draft.labels['a']
      draft.labels['a'] = '1'
    },
    undefined,
  ],
  ['a label', ({ labels }) => (labels['a'] = '9'), { metadata: { labels: { a: '9' } } }],
  ['a label that goes', ({ labels }) => delete labels['b'], { metadata: { labels: { b: null } } }],
  ['an annotation', ({ annotations }) => (annotations['y'] = ''), { metadata: { annotations: { y: '' } } }],
  ['a finalizer', ({ finalizers }) => finalizers.push('g'), { metadata: { finalizers: ['f', 'g'] } }],
  ['the cordon', (draft) => (draft.isUnschedulable = false), { spec: { unschedulable: null } }],
])('%s', ([, edit, expected]) => {
  const patch = patchOf(change(edit)) as { metadata: object } | undefined
  if (expected === undefined) return expect(patch).toBeUndefined()
  // It holds only for the node that was read.
  const { metadata = {}, ...rest } = expected as { metadata?: object }
  expect(patch).toEqual({ metadata: { uid: 'u1', resourceVersion: '7', ...metadata }, ...rest })
})

test('what is remembered comes back, in the same draft, and the node that was read never changes', () => {
  const draft = draftOf(node)
  draft.labels['kept'] = 'yes'
  const undo = remember(draft)
  draft.labels['lost'] = 'yes'
  delete draft.labels['a']
  draft.annotations['x'] = '2'
  draft.finalizers.push('g')
  draft.isUnschedulable = false
  undo()
  expect(draft).toEqual({ ...draftOf(node), labels: { a: '1', b: '2', kept: 'yes' } })
  expect(node.metadata.labels).toEqual({ a: '1', b: '2' })
  expect(node.metadata.finalizers).toEqual(['f'])
})

test('while a node is deleted its finalizers are taken off, and none is added', () => {
  const deleted = { deletionTimestamp: '2026-03-01T12:00:00Z', finalizers: ['a', 'b'] }
  const draft = draftOf({ ...node, metadata: { ...node.metadata, ...deleted } })
  draft.finalizers = ['b', 'c']
  expect(patchOf(draft)).toMatchObject({ metadata: { finalizers: ['b'] } })
  draft.finalizers = ['a', 'b', 'c']
  expect(patchOf(draft)).toBeUndefined()
})
