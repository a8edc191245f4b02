import { describe, expect, test } from 'vitest'
import { FixtureCluster } from './fixture-cluster.ts'
import { budget, node, request } from './fixture-world.ts'

/** How long somebody may be passed, told by the queue itself: every place in line is stored, and read again from there. */

const minute = 60_000

/** Two racks, of which one node each may be out: `a` and its neighbours wait for rack x, those of rack y pass them. */
function clusterOf(...nodeNames: readonly string[]): FixtureCluster {
  const cluster = new FixtureCluster()
  cluster.put('budget', budget({ max: 9, limits: [{ name: 'racks', groupBy: 'rack', max: 1 }] }))
  for (const name of nodeNames) {
    cluster.put(`node/${name}`, node(name, { labels: { rack: name.slice(0, 1) }, readySince: '2026-02-01T00:00:00Z' }))
    cluster.machines.set(name, {
      bootID: 'b',
      isAgentAlive: true,
      lastBeatMs: 0,
      highest: 0,
      stubborn: new Set(),
    })
  }
  return cluster
}

let made = 0
function ask(cluster: FixtureCluster, nodeName: string, priority = 0): string {
  const name = `r-${nodeName}`
  const creationTimestamp = new Date(Date.parse('2026-03-01T00:00:00Z') + made++ * 1000).toISOString()
  cluster.put(`request/${name}`, request(name, nodeName, { spec: { priority }, metadata: { creationTimestamp } }))
  return name
}

function settle(cluster: FixtureCluster): void {
  for (let before = -1; before !== cluster.writes; ) {
    before = cluster.writes
    cluster.ledgerTurn()
    for (const { metadata } of cluster.requests) cluster.requestTurn(metadata.name ?? '')
  }
}

function pass(cluster: FixtureCluster, ms: number): void {
  cluster.nowMs += ms
  settle(cluster)
}

function bringBack(cluster: FixtureCluster, name: string): void {
  const one = cluster.request(name)
  if (one) cluster.put(`request/${name}`, { ...one, spec: { ...one.spec, want: 'Return' } })
  settle(cluster)
}

const phaseOf = (cluster: FixtureCluster, name: string) => cluster.request(name)?.status?.phase
const waitingOf = (cluster: FixtureCluster, name: string) => cluster.request(name)?.status?.waiting

/** x1 is out, x2 and x3 wait for its rack, and y1 has just gone past them. */
function passedCluster(): FixtureCluster {
  const cluster = clusterOf('x1', 'x2', 'x3', 'x4', 'y1', 'y2')
  ask(cluster, 'x1')
  settle(cluster)
  ask(cluster, 'x2')
  ask(cluster, 'x3')
  settle(cluster)
  expect(waitingOf(cluster, 'r-x2')).not.toHaveProperty('passedSince')
  cluster.nowMs += minute
  ask(cluster, 'y1')
  settle(cluster)
  expect(phaseOf(cluster, 'r-y1')).toBe('Granted')
  return cluster
}

describe('who is passed', () => {
  test('has that stored from the first time on, and no write for every other time', () => {
    const cluster = passedCluster()
    const since = new Date(Date.parse('2026-03-01T12:01:00.000Z')).toISOString()
    expect([waitingOf(cluster, 'r-x2')?.passedSince, waitingOf(cluster, 'r-x3')?.passedSince]).toEqual([since, since])
    bringBack(cluster, 'r-y1')
    const versions = ['r-x2', 'r-x3'].map((name) => cluster.request(name)?.metadata.resourceVersion)
    cluster.nowMs += minute
    ask(cluster, 'y2')
    settle(cluster)
    expect(phaseOf(cluster, 'r-y2')).toBe('Granted')
    expect(['r-x2', 'r-x3'].map((name) => cluster.request(name)?.metadata.resourceVersion)).toEqual(versions)
  })

  test('for an hour goes first, before every priority; who starves as well is next, though it waited for the order', () => {
    const cluster = passedCluster()
    ask(cluster, 'x4', 1000)
    pass(cluster, 59 * minute)
    expect(waitingOf(cluster, 'r-x4')).toMatchObject({ for: 'Budget', position: 1 })
    pass(cluster, minute)
    expect(waitingOf(cluster, 'r-x2')).toMatchObject({ for: 'Budget', position: 1 })
    expect(waitingOf(cluster, 'r-x3')).toMatchObject({ for: 'Order', position: 2, next: 'fettle explain r-x2' })
    expect(waitingOf(cluster, 'r-x4')).toMatchObject({ for: 'Order', position: 3, next: 'fettle explain r-x2' })
    pass(cluster, 10 * minute)
    bringBack(cluster, 'r-x1')
    expect(phaseOf(cluster, 'r-x2')).toBe('Granted')
    expect(cluster.request('r-x2')?.status).not.toHaveProperty('waiting')
    expect(waitingOf(cluster, 'r-x4')).toMatchObject({ for: 'Order', next: 'fettle explain r-x3' })
    bringBack(cluster, 'r-x2')
    expect([phaseOf(cluster, 'r-x3'), phaseOf(cluster, 'r-x4')]).toEqual(['Granted', 'Queued'])
  })

  test('keeps its hour through a freeze', () => {
    const cluster = passedCluster()
    pass(cluster, 30 * minute)
    cluster.freeze = { message: 'all stops' }
    settle(cluster)
    expect(waitingOf(cluster, 'r-x2')?.for).toBe('Freeze')
    pass(cluster, 20 * minute)
    cluster.freeze = undefined
    ask(cluster, 'x4', 1000)
    pass(cluster, 10 * minute)
    expect(waitingOf(cluster, 'r-x2')?.position).toBe(1)
    bringBack(cluster, 'r-x1')
    expect([phaseOf(cluster, 'r-x2'), phaseOf(cluster, 'r-x4')]).toEqual(['Granted', 'Queued'])
  })
})

test('who only waits in a long line is not passed, and overtakes nobody after an hour', () => {
  const cluster = clusterOf('x1', 'x2', 'x3')
  ask(cluster, 'x1')
  settle(cluster)
  ask(cluster, 'x2', -5)
  pass(cluster, 120 * minute)
  ask(cluster, 'x3', 5)
  settle(cluster)
  expect(waitingOf(cluster, 'r-x2')).toMatchObject({ for: 'Budget', position: 2 })
  bringBack(cluster, 'r-x1')
  expect([phaseOf(cluster, 'r-x2'), phaseOf(cluster, 'r-x3')]).toEqual(['Queued', 'Granted'])
})
