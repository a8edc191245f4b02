import { describe, expect, test } from 'vitest'
import type { NodeObject } from '../../../kube/index.ts'
import { createFor, type NodeParts, nodeOf, noon, passOf } from '../../fixture-pass.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../../names.ts'
import type { GoneNode } from '../../plugin.ts'
import { maxMaintenance } from './max-maintenance.ts'

type Given = Parameters<typeof createFor<ReturnType<typeof maxMaintenance.create>, typeof maxMaintenance.fields>>[1]

/** In maintenance, by its label. */
function maintained(name: string, { labels = {}, ...more }: NodeParts = {}): NodeObject {
  return nodeOf(name, { ...more, labels: { ...labels, [stateLabel]: 'in-maintenance' } })
}

function ask(config: Given, nodes: readonly NodeObject[], own: NodeObject = nodeOf('own')) {
  return createFor(maxMaintenance, config).check(passOf({ node: own, nodes: [own, ...nodes], nowMs: noon }))
}

test('it is asked again when the node is really taken, one after the other', () => {
  expect(createFor(maxMaintenance, { max: 1 }).isShared).toBe(true)
})

test.for([
  [2, 1, true],
  [2, 2, false],
  [1, 0, true],
  [1, 1, false],
  [-1, 0, false],
] as const)('max %d, %d in maintenance: %s', ([max, count, isPassed]) => {
  const nodes = Array.from({ length: count }, (_, index) => maintained(`n${index}`))
  expect(ask({ max }, nodes)).toEqual({
    isPassed,
    info: { scope: 'cluster', maintained: count, max, nodes: nodes.map(({ metadata }) => metadata.name) },
  })
})

test('the node itself counts, when another of its profiles is in maintenance', () => {
  expect(ask({ max: 1 }, [], maintained('own'))).toMatchObject({ isPassed: false })
})

describe('profile', () => {
  test('only nodes whose label names it count', () => {
    const nodes = [maintained('named', { labels: { [profileLabel]: 'profile' } }), maintained('bare')]
    expect(ask({ max: 1, profile: 'profile' }, nodes)).toMatchObject({
      isPassed: false,
      info: { scope: 'profile profile', maintained: 1, nodes: ['named'] },
    })
  })

  test.for([
    ['other--profile', 1],
    ['profile--other', 1],
    ['profiles', 0],
    ['my-profile', 0],
  ] as const)('a label %s counts %d', ([label, count]) => {
    expect(ask({ max: 5, profile: 'profile' }, [maintained('n', { labels: { [profileLabel]: label } })])).toMatchObject(
      {
        info: { maintained: count },
      },
    )
  })
})

describe('skipAfter', () => {
  const twentySecondsAgo = { state: 'in-maintenance', sinceMs: noon - 20_000 } as const

  test.for([
    [5_000, '', true],
    [50_000, '', false],
    [5_000, 'profile', true],
    [50_000, 'profile', false],
  ] as const)(
    'the last transition was 20 s ago; skipAfter %d ms with profile %j: %s',
    ([skipAfter, profile, isPassed]) => {
      const labels = { [profileLabel]: 'profile' }
      const node = maintained('n', { labels, profiles: { profile: twentySecondsAgo } })
      expect(ask({ max: 1, skipAfter, profile }, [node])).toMatchObject({ isPassed })
    },
  )

  const older = { state: 'operational', sinceMs: noon - 100_000 } as const

  test('without a profile the youngest of all transitions counts, with one its own', () => {
    const labels = { [profileLabel]: 'young--old' }
    const node = maintained('n', { labels, profiles: { young: twentySecondsAgo, old: older } })
    expect(ask({ max: 1, skipAfter: 50_000 }, [node])).toMatchObject({ isPassed: false })
    expect(ask({ max: 1, skipAfter: 50_000, profile: 'old' }, [node])).toMatchObject({ isPassed: true })
  })

  test('a node without data of the profile counts by what else is known, and if nothing is, it counts', () => {
    const labels = { [profileLabel]: 'new' }
    const config = { max: 1, skipAfter: 50_000, profile: 'new' }
    expect(ask(config, [maintained('n', { labels, profiles: { other: twentySecondsAgo } })])).toMatchObject({
      isPassed: false,
    })
    expect(ask(config, [maintained('n', { labels, profiles: { other: older } })])).toMatchObject({ isPassed: true })
    expect(ask(config, [maintained('n', { labels })])).toMatchObject({ isPassed: false })
    expect(
      ask(config, [maintained('n', { labels, annotations: { [dataAnnotation]: '{"Profiles":{"new":null}}' } })]),
    ).toMatchObject({ isPassed: false })
  })

  test('data that cannot be read is an error, but only where it counts', () => {
    const broken = maintained('broken', { annotations: { [dataAnnotation]: '{{' } })
    expect(() => ask({ max: 1, skipAfter: 5_000 }, [broken])).toThrow(
      `the data is no JSON, in annotation ${dataAnnotation} of node broken; repair or remove it`,
    )
    expect(ask({ max: 1 }, [broken])).toMatchObject({ isPassed: false })
    const idle = nodeOf('idle', { annotations: { [dataAnnotation]: '{{ in-maintenance' } })
    expect(ask({ max: 1, skipAfter: 5_000 }, [idle])).toMatchObject({ isPassed: true })
  })
})

describe('groups', () => {
  test.for([
    ['the same', { group: 'a' }, { group: 'a' }, false],
    ['none there', { group: 'a' }, {}, true],
    ['another', { group: 'b' }, { group: 'c' }, true],
    ['an empty one here', { group: '' }, { group: 'd' }, false],
    ['none here', {}, { group: 'd' }, false],
  ] as const)('%s', ([, own, theirs, isPassed]) => {
    const node = maintained('n', { labels: theirs })
    for (const config of [{ groupBy: ['group'] }, { groupLabel: 'group' }, { groupBy: ['group'], groupLabel: 'group' }])
      expect(ask({ max: 1, ...config }, [node], nodeOf('own', { labels: own }))).toMatchObject({ isPassed })
  })

  test('every label of the list has to be the same, and the old one is added to them', () => {
    const own = nodeOf('own', { labels: { x: '1', y: '2', g: '3' } })
    const alike = maintained('alike', { labels: { x: '1', y: '2', g: '3' } })
    const partly = maintained('partly', { labels: { x: '1', y: '2', g: '4' } })
    expect(ask({ max: 5, groupBy: ['x', 'y'] }, [alike, partly], own)).toMatchObject({
      info: { scope: 'x=1, y=2', maintained: 2 },
    })
    expect(ask({ max: 5, groupBy: ['x', 'y'], groupLabel: 'g' }, [alike, partly], own)).toMatchObject({
      info: { scope: 'x=1, y=2, g=3', nodes: ['alike'] },
    })
    expect(ask({ max: 5, groupLabel: 'g' }, [alike, partly], own)).toMatchObject({ info: { scope: 'g=3' } })
  })
})

describe('a state label that somebody edited', () => {
  const labels = { [profileLabel]: 'p' }
  const profiles = { p: { state: 'in-maintenance', sinceMs: noon - 20_000 } } as const

  test.for([undefined, '', 'operational', 'nonsense'])('to %j: what is stored counts', (label) => {
    const node = nodeOf('n', {
      labels: { ...labels, ...(label === undefined ? {} : { [stateLabel]: label }) },
      profiles,
    })
    expect(ask({ max: 1 }, [node])).toMatchObject({ isPassed: false })
    expect(ask({ max: 1, skipAfter: 5_000 }, [node])).toMatchObject({ isPassed: true })
  })

  test('to in-maintenance: the node counts until the label is mended', () => {
    const node = maintained('n', { profiles: { p: { state: 'operational' } } })
    expect(ask({ max: 1 }, [node])).toMatchObject({ isPassed: false })
  })

  test('a profile that was in maintenance, and is no longer, does not count', () => {
    const data =
      '{"Profiles":{"p":{"Transition":"2026-03-01T11:00:00Z","Current":"operational","Previous":"in-maintenance"}}}'
    expect(ask({ max: 1 }, [nodeOf('n', { labels, annotations: { [dataAnnotation]: data } })])).toMatchObject({
      isPassed: true,
    })
  })

  test('data in the layout of old releases, or with escapes, is read too', () => {
    for (const data of [
      '{"LastTransition":"2026-03-01T11:00:00Z","ProfileStates":{"p":"in-maintenance"}}',
      '{"Profiles":{"p":{"Transition":"2026-03-01T11:00:00Z","Current":"in\\u002dmaintenance"}}}',
    ])
      expect(ask({ max: 1 }, [nodeOf('n', { labels, annotations: { [dataAnnotation]: data } })])).toMatchObject({
        isPassed: false,
      })
  })

  test('what a profile left behind that the file no longer has does not count, though the label names it', () => {
    const node = nodeOf('n', { labels: { [profileLabel]: 'p--new', [stateLabel]: 'operational' }, profiles })
    const pass = passOf({ nodes: [node], nowMs: noon })
    const check = (...inFile: string[]) =>
      createFor(maxMaintenance, { max: 1 }).check({ ...pass, inFile: new Set(inFile) })
    expect(check('default', 'p', 'new')).toMatchObject({ isPassed: false })
    expect(check('default', 'new')).toMatchObject({ isPassed: true })
  })
})

describe('nodes that were deleted in maintenance', () => {
  const second = 1_000
  const gone = (name: string, agoMs: number, labels = {}) => ({
    node: maintained(name, { labels }),
    atMs: noon - agoMs,
  })
  const came = (name: string, agoMs: number, { status = 'True', labels = {} } = {}): NodeObject => {
    const { metadata, ...rest } = nodeOf(name, { labels, conditions: [{ type: 'Ready', status }] })
    return { ...rest, metadata: { ...metadata, creationTimestamp: new Date(noon - agoMs).toISOString() } }
  }
  const askBeside = (config: Given, went: readonly GoneNode[], nodes: readonly NodeObject[] = []) => {
    const own = came('own', 3_600 * second, { labels: { zone: 'a' } })
    const pass = passOf({ node: own, nodes: [own, ...nodes], nowMs: noon })
    return createFor(maxMaintenance, config).check({ ...pass, cluster: { ...pass.cluster, gone: () => went } })
  }

  test.for<[string, GoneNode, readonly NodeObject[], boolean]>([
    ['nobody has come', gone('n', 30 * second), [], false],
    ['somebody was there before', gone('n', 30 * second), [came('old', 31 * second)], false],
    ['somebody has come', gone('n', 30 * second), [came('new', 10 * second)], true],
    ['it has come back itself', gone('n', 30 * second), [came('n', 10 * second)], true],
    ['somebody came in the same second', gone('n', 30 * second - 900), [came('new', 30 * second)], true],
    ['who has come is not ready', gone('n', 30 * second), [came('new', 10 * second, { status: 'False' })], false],
    ['it was long ago', gone('n', 600 * second), [], true],
  ])('max 1, %s', async ([, went, nodes, isPassed]) => {
    expect(await askBeside({ max: 1 }, [went], nodes)).toMatchObject({ isPassed })
  })

  test('count beside those that are there, and are named', async () => {
    expect(await askBeside({ max: 3 }, [gone('b', 1), gone('c', 1)], [maintained('a')])).toEqual({
      isPassed: false,
      info: { scope: 'cluster', maintained: 3, max: 3, nodes: ['a', 'b', 'c'], gone: ['b', 'c'] },
    })
  })

  test('one that has come stands in for one, that which has been gone longest', async () => {
    const went = [gone('b', 30 * second), gone('c', 20 * second)]
    expect(await askBeside({ max: 1 }, went, [came('new', 10 * second)])).toMatchObject({ info: { gone: ['c'] } })
    const both = [came('new', 10 * second), came('newer', 9 * second)]
    expect(await askBeside({ max: 1 }, went, both)).toMatchObject({ isPassed: true })
    // Before the second one went.
    expect(await askBeside({ max: 1 }, went, [came('new', 25 * second), came('newer', 24 * second)])).toMatchObject({
      info: { gone: ['c'] },
    })
  })

  test('the same filters hold, and only a node of the same group stands in', async () => {
    const config = { max: 1, groupBy: ['zone'] }
    expect(await askBeside(config, [gone('n', second, { zone: 'b' })])).toMatchObject({ isPassed: true })
    const here = gone('n', 30 * second, { zone: 'a', [profileLabel]: 'p' })
    const elsewhere = came('new', second, { labels: { zone: 'b' } })
    expect(await askBeside(config, [here], [elsewhere])).toMatchObject({ isPassed: false })
    expect(await askBeside({ max: 1, profile: 'other' }, [here])).toMatchObject({ isPassed: true })
  })

  test('do not count when the file says so', async () => {
    expect(await askBeside({ max: 1, goneFor: 0 }, [gone('n', 0)])).toMatchObject({ isPassed: true })
    expect(await askBeside({ max: 1, goneFor: 3_600 * second }, [gone('n', 700 * second)])).toMatchObject({
      isPassed: false,
    })
  })
})
