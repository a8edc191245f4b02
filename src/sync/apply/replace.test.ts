import { expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import { replaceRuleOf, restorable } from './replace.ts'

const of = (group: string, kind: string, replace?: string) => ({
  key: { group, kind, namespace: 'shop', name: 'x' },
  body: { metadata: { annotations: (replace === undefined ? {} : { 'fettle.dev/replace': replace }) as JsonObject } },
})

test.for([
  [of('batch', 'Job'), { when: 'auto', propagation: 'Foreground' }],
  [of('', 'Pod'), { when: 'auto', propagation: 'Background' }],
  [of('apps', 'StatefulSet'), { when: 'auto', propagation: 'Orphan' }],
  [of('apps', 'Deployment'), { when: 'never', propagation: 'Foreground' }],
  [of('', 'PersistentVolumeClaim'), { when: 'never', propagation: 'Background' }],
  [of('', 'Namespace'), { when: 'never', propagation: 'Background' }],
  [of('example.com', 'Job'), { when: 'never', propagation: 'Background' }],
  [of('', 'Service', 'auto'), { when: 'auto', propagation: 'Background' }],
  [of('batch', 'Job', 'never'), { when: 'never', propagation: 'Foreground' }],
  [of('apps', 'Deployment', 'always'), { when: 'always', propagation: 'Foreground' }],
] as const)('%j', ([declared, rule]) => {
  expect(replaceRuleOf(declared)).toEqual(rule)
})

test('a copy can be made again: without what the server wrote, and without the UID that a Job finds its pods by', () => {
  const labels = { app: 'x', 'controller-uid': 'u', 'batch.kubernetes.io/controller-uid': 'u' }
  const job = {
    kind: 'Job',
    metadata: { name: 'x', uid: 'u', resourceVersion: '1', managedFields: [], labels, finalizers: ['a/b'] },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
    status: { active: 1 },
  }
  expect(restorable(job)).toEqual({
    kind: 'Job',
    metadata: { name: 'x', labels: { app: 'x' }, finalizers: ['a/b'] },
    spec: { template: { metadata: { labels: { app: 'x' } }, spec: {} } },
  })
})
