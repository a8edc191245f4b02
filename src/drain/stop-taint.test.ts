import { expect, test } from 'vitest'
import { type Toleration, toleratesStop } from './stop-taint.ts'

const key = 'drain.fettle.dev/stopped-daemonsets'

test.for<readonly [string, readonly Toleration[] | undefined, boolean]>([
  ['nothing', undefined, false],
  ['nothing, in a list', [], false],
  [
    'other taints',
    [{ key: 'example.com/gpu' }, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
    false,
  ],
  ['everything', [{}], true],
  ['everything, as the API server may write it', [{ key: '', effect: '' }], true],
  ['everything that keeps pods away', [{ effect: 'NoSchedule' }], true],
  ['everything that makes pods leave', [{ effect: 'NoExecute' }], false],
  ['our taint', [{ key: 'example.com/gpu' }, { key }], true],
  ['our taint with its effect', [{ key, effect: 'NoSchedule' }], true],
  ['our taint with another effect', [{ key, effect: 'NoExecute' }], false],
])('a DaemonSet that tolerates %s', ([, tolerations, expected]) => {
  expect(toleratesStop(tolerations)).toBe(expected)
})
