import { expect, test } from 'vitest'
import { nodeOf, noon } from './fixture-pass.ts'
import { GoneNodes } from './gone-nodes.ts'
import { profileLabel, stateLabel } from './names.ts'

test('only who was in maintenance is remembered, with when it went, and not without end', () => {
  const gone = new GoneNodes()
  gone.note(nodeOf('idle', { profiles: { p: { state: 'maintenance-required' } } }), noon)
  gone.note(nodeOf('bare'), noon)
  expect(gone.all()).toEqual([])
  const out = nodeOf('out', { labels: { [stateLabel]: 'in-maintenance' } })
  gone.note(out, noon)
  gone.note(
    nodeOf('edited', { labels: { [profileLabel]: 'p' }, profiles: { p: { state: 'in-maintenance' } } }),
    noon + 1,
  )
  expect(gone.all().map(({ node, atMs }) => [node.metadata.name, atMs])).toEqual([
    ['out', noon],
    ['edited', noon + 1],
  ])
  for (let index = 0; index < 600; index++) gone.note(out, noon + 2)
  expect(gone.all()).toHaveLength(500)
})
