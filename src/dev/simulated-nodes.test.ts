import { describe, expect, it } from 'vitest'
import { leaseSeconds } from './bring-up.ts'
import { simulatedLabel, simulatedNode, simulatedTaint, zoneOf } from './simulated-nodes.ts'

describe('simulated nodes', () => {
  it.each([
    [1, ['zone-a', 'zone-a', 'zone-a', 'zone-a']],
    [3, ['zone-a', 'zone-b', 'zone-c', 'zone-a']],
    [26, ['zone-a', 'zone-b', 'zone-c', 'zone-d']],
  ])('are dealt out to %s zones one after the other', (zones, expected) => {
    expect([0, 1, 2, 3].map((position) => zoneOf(position, zones))).toEqual(expected)
  })

  it.each([0, -1, 27, 1000])('have zones with a letter even when %s zones were asked for', (zones) => {
    for (let position = 0; position < 30; position++) expect(zoneOf(position, zones)).toMatch(/^zone-[a-z]$/)
  })

  it('are claimed by their keeper through an annotation, and known by a label', () => {
    const { metadata } = simulatedNode('node-1', 'zone-a', false)
    expect(metadata.annotations?.['kwok.x-k8s.io/node']).toBe('fake')
    expect(metadata.labels).toMatchObject({ [simulatedLabel]: 'true', 'topology.kubernetes.io/zone': 'zone-a' })
  })

  it('are tainted only beside real ones', () => {
    expect(simulatedNode('node-1', 'zone-a', true).spec?.taints).toEqual([simulatedTaint])
    expect(simulatedNode('node-1', 'zone-a', false).spec).toBeUndefined()
  })

  it('have a boot id each', () => {
    expect(simulatedNode('a', 'z', false).status).not.toEqual(simulatedNode('b', 'z', false).status)
  })

  it.each([
    [0, 40],
    [500, 40],
    [501, 41],
    [5_000, 400],
  ])('beat so slowly that %s of them do not drown the API server: every %s s at most', (nodes, seconds) => {
    expect(leaseSeconds(nodes)).toBe(seconds)
  })
})
