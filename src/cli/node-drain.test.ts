import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addDrainOptions } from './drain-options.ts'
import { type NodePreview, previewText } from './node-drain.ts'

const row = { fate: 'evict', stage: 'ordinary' } as const
const preview: NodePreview = {
  node: 'node-7',
  isReady: true,
  isUnschedulable: false,
  pods: [
    { ...row, pod: 'shop/alone', leaves: 'never', why: 'nobody would start it again' },
    { ...row, pod: 'shop/web-1', leaves: 'now', why: 'ReplicaSet web starts it again elsewhere', pdb: 'shop/web' },
    { ...row, pod: 'kube-system/proxy', fate: 'stay', leaves: 'stays', why: 'DaemonSet proxy' },
  ],
  budgets: [{ pdb: 'shop/web', pods: 1, mayLeaveNow: 1, neverPasses: false }],
  warnings: [],
  canFinish: false,
}

test('what needs a person comes last, next to the verdict', () => {
  expect(previewText(preview)).toBe(`node-7 is Ready and schedulable; its pods: stays 1, now 1, later 0, never 1
  stays  kube-system/proxy  DaemonSet proxy
  now    shop/web-1         ReplicaSet web starts it again elsewhere
  never  shop/alone         nobody would start it again
PodDisruptionBudgets
  shop/web: 1 of these pods are in its care, 1 may leave now
The drain cannot finish: 1 of its pods needs a person, see the last lines of the list
`)
})

test('a node without trouble ends with how to take it out', () => {
  expect(
    previewText({ ...preview, pods: [], budgets: [], canFinish: true, isReady: false, isUnschedulable: true }),
  ).toBe(`node-7 is NotReady and unschedulable; its pods: stays 0, now 0, later 0, never 0
The drain can finish by itself: \`fettle node maintain node-7 --reason …\`
`)
})

test('what was asked for and comes to nothing is said before the verdict', () => {
  const text = previewText({ ...preview, warnings: ['DaemonSet a/b does not exist'] })
  expect(text.split('\n').at(-3)).toBe('Warning: DaemonSet a/b does not exist')
})

test('DaemonSets to stop are named with their namespaces', () => {
  const read = (...names: string[]) => {
    const command = addDrainOptions(new Command())
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
    return command
      .parse(
        names.flatMap((name) => ['--stop-daemonset', name]),
        { from: 'user' },
      )
      .opts()
  }
  expect(read()).toEqual({})
  expect(read('a/b', 'c/d')).toEqual({
    stopDaemonset: [
      { namespace: 'a', name: 'b' },
      { namespace: 'c', name: 'd' },
    ],
  })
  for (const text of ['log', '/log', 'kube-system/', 'a/b/c']) expect(() => read(text)).toThrow('Write its namespace')
})
