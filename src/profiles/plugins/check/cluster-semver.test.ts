import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { profileLabel } from '../../names.ts'
import { clusterSemver } from './cluster-semver.ts'

const max = nodeOf('max', { labels: { version: '2.3.1', [profileLabel]: 'other--p' } })
const min = nodeOf('min', { labels: { version: '1.34.7' } })
const invalid = nodeOf('invalid', { labels: { version: 'thiswillnotparse' } })
const bare = nodeOf('bare')
const nodes = [max, min, invalid, bare]

test.for([
  ['max', max, {}, false, { own: '2.3.1', max: '2.3.1' }],
  ['min', min, {}, true, { own: '1.34.7', max: '2.3.1' }],
  ['min among nodes of a profile that the highest has', min, { profileScoped: true }, true, { max: '2.3.1' }],
] as const)('%s', ([, node, config, isPassed, info]) => {
  expect(createFor(clusterSemver, { key: 'version', ...config }).check(passOf({ node, nodes }))).toMatchObject({
    isPassed,
    info,
  })
})

test('in a profile that nobody has, nothing is higher', () => {
  const check = createFor(clusterSemver, { key: 'version', profileScoped: true })
  expect(check.check(passOf({ node: min, nodes, profile: 'nobody' }))).toEqual({
    isPassed: false,
    info: { own: '1.34.7', max: '0.1.0' },
  })
  const old = nodeOf('old', { labels: { version: '0.0.9' } })
  expect(check.check(passOf({ node: old, nodes, profile: 'nobody' }))).toMatchObject({ isPassed: true })
})

test.for([
  ['unreadable', invalid, 'label version is "thiswillnotparse", which is no version such as 1.2.3'],
  ['absent', bare, 'the node has no label version, so its version is not known'],
] as const)('an own version that is %s is an error', ([, node, message]) => {
  expect(() => createFor(clusterSemver, { key: 'version' }).check(passOf({ node, nodes }))).toThrow(message)
})
