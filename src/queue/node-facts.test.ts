import { describe, expect, test } from 'vitest'
import type { PodObject } from '../kube/index.ts'
import { node, pod } from './fixture-world.ts'
import { canRunElsewhere, takesPods } from './node-facts.ts'

const infra = { role: 'infra' }
const pinned: PodObject = { ...pod('own'), spec: { nodeSelector: infra } }

describe('a node takes a pod', () => {
  test('when it is Ready, not cordoned, and has no taint that keeps it away', () => {
    expect(takesPods(node('a'))).toBe(true)
    expect(takesPods(node('a', { isReady: false }))).toBe(false)
    expect(takesPods(node('a', { isCordoned: true }))).toBe(false)
    expect(takesPods(node('a', { taints: ['gpu'] }))).toBe(false)
  })

  test('that tolerates its taints, and wants to be there', () => {
    const tolerant: PodObject = { ...pod('own'), spec: { tolerations: [{ key: 'gpu', operator: 'Exists' }] } }
    expect(takesPods(node('a', { taints: ['gpu'] }), tolerant)).toBe(true)
    expect(takesPods(node('a', { labels: infra }), pinned)).toBe(true)
    expect(takesPods(node('a'), pinned)).toBe(false)
  })
})

describe('pods of a node can run elsewhere', () => {
  const here = node('here', { labels: infra })

  test('if another node takes them: their own does not count', () => {
    expect(canRunElsewhere([pod('own')], 'here', [here])).toBe(false)
    expect(canRunElsewhere([pod('own')], 'here', [here, node('b', { isReady: false })])).toBe(false)
    expect(canRunElsewhere([pod('own')], 'here', [here, node('b', { isReady: false }), node('c')])).toBe(true)
  })

  test('not if they are pinned to nodes of which there is no other', () => {
    expect(canRunElsewhere([pinned], 'here', [here, node('b')])).toBe(false)
    expect(canRunElsewhere([pinned], 'here', [here, node('b'), node('c', { labels: infra })])).toBe(true)
  })

  test('only if each of them can', () => {
    expect(canRunElsewhere([pod('own'), pinned], 'here', [here, node('b')])).toBe(false)
  })
})
