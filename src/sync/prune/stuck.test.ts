import { expect, test } from 'vitest'
import { resources } from '../../kube/index.ts'
import { explainStuck, managersOf } from './stuck.ts'

const deletionTimestamp = '2026-05-01T12:00:00Z'
const owner = (manager: string, ...finalizers: string[]) => ({
  manager,
  fieldsV1: {
    'f:metadata': { 'f:finalizers': Object.fromEntries(finalizers.map((name) => [`v:${JSON.stringify(name)}`, {}])) },
  },
})
const held = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u-1',
    deletionTimestamp,
    finalizers: ['a.example/one', 'b.example/two', 'foregroundDeletion'],
    managedFields: [owner('one-operator', 'a.example/one'), owner('kubectl', 'b.example/two'), { manager: 'other' }],
  },
}

test('each finalizer is told with who set it, then what blocks, then what a person could do', () => {
  expect(explainStuck(held, resources.deployments, ['ReplicaSet web-7f'])).toEqual({
    finalizers: held.metadata.finalizers,
    why:
      'is being deleted since 2026-05-01T12:00:00Z; finalizers hold it: a.example/one (set by one-operator), ' +
      'b.example/two (set by kubectl), foregroundDeletion; these have to go first: ReplicaSet web-7f. ' +
      'If whoever should remove them never will: kubectl -n shop patch deployments.apps web --type=json ' +
      `-p '[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"remove","path":"/metadata/finalizers"}]'`,
  })
})

test.for([
  [
    'one without finalizers',
    { metadata: { name: 'p', deletionTimestamp, deletionGracePeriodSeconds: 30 } },
    'is being deleted since 2026-05-01T12:00:00Z with 30 s of grace; no finalizer holds it',
  ],
  [
    'a namespace with something left in it',
    {
      metadata: { name: 'shop', deletionTimestamp },
      status: {
        conditions: [
          { type: 'NamespaceDeletionDiscoveryFailure', status: 'False', message: 'all resources were found' },
          {
            type: 'NamespaceContentRemaining',
            status: 'True',
            message: 'widgets.example.com has 1 resource instances',
          },
        ],
      },
    },
    'is being deleted since 2026-05-01T12:00:00Z; no finalizer holds it: widgets.example.com has 1 resource instances',
  ],
  [
    'one that nobody deletes',
    { metadata: { name: 'p' } },
    'the server took the deletion, and yet it is not being deleted; a webhook may have undone it',
  ],
] as const)('%s', ([, object, why]) => {
  expect(explainStuck(object, resources.pods, [])).toEqual({ why, finalizers: [] })
})

test('a finalizer that two programs own is set by both, and one that no entry names by nobody', () => {
  const managedFields = [owner('one', 'x/y'), owner('two', 'x/y', 'z'), owner('two', 'x/y')]
  expect(managersOf({ metadata: { managedFields } }, 'x/y')).toEqual(['one', 'two'])
  expect(managersOf({ metadata: { managedFields } }, 'y')).toEqual([])
  expect(managersOf({ metadata: {} }, 'y')).toEqual([])
})
