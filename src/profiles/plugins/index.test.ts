import { expect, test } from 'vitest'
import { plugins } from './index.ts'

test('there is every trigger, notifier and schedule that a file of the original may name, and nothing twice', () => {
  const types = (list: readonly { readonly type: string }[]) => list.map(({ type }) => type).sort()
  expect(types(plugins.trigger)).toEqual(['alterAnnotation', 'alterFinalizer', 'alterLabel', 'eviction'])
  expect(types(plugins.notify)).toEqual(['mail', 'slack', 'slackThread'])
  expect(types(plugins.schedule)).toEqual(['oneshot', 'periodic', 'scheduled'])
  expect(new Set(types(plugins.check)).size).toBe(plugins.check.length)
})
