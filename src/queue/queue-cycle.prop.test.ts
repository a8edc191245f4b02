import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MaintenanceRequest, requestVerbs, verbAnnotations } from '../api/index.ts'
import { hasStopTaint, isCordonedBy, isCordonLeftOver } from '../drain/index.ts'
import { type Fate, FixtureCluster } from './fixture-cluster.ts'
import { budget, node, pod, request } from './fixture-world.ts'
import { cordonOwner } from './names.ts'
import { isOpen } from './order.ts'

/** Whatever happens to a cluster, the queue comes to rest: all is done, held, or waits with a reason. */

const nodeNames = ['a', 'b', 'c'] as const
const hour = 3_600_000
const shipper = { namespace: 'shop', name: 'log' }
const ofShipper = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'log', uid: 'log', controller: true }]
const ownName = `cordon.fettle.dev/${cordonOwner}`
const inProgress = 'weave.works/kured-reboot-in-progress'

const requestSeeds = fc.record({
  node: fc.constantFrom(...nodeNames),
  key: fc.constantFrom('x', 'y'),
  work: fc.constantFrom('External', 'Host', 'Reboot'),
  isCordoning: fc.boolean(),
  isSecured: fc.boolean(),
  inWindow: fc.boolean(),
  onDeadline: fc.constantFrom('Hold', 'Requeue', 'ForceDelete', 'Continue'),
  priority: fc.integer({ min: 0, max: 1 }),
  reason: fc.constantFrom('kernel', 'disk'),
})

const clusterSeeds = fc.record({
  requests: fc.array(requestSeeds, { minLength: 1, maxLength: 5, size: 'max' }),
  max: fc.integer({ min: 0, max: 3 }),
  hasZones: fc.boolean(),
  soak: fc.constantFrom('0s', '5m'),
  lead: fc.constantFrom('0s', '2m'),
  minReadySeconds: fc.constantFrom(0, 30),
  onNodeLost: fc.constantFrom('Hold', 'Continue'),
  cordoned: fc.constantFrom(undefined, ...nodeNames),
  blocked: fc.constantFrom(undefined, ...nodeNames),
  stubborn: fc.constantFrom(undefined, ...nodeNames),
  mute: fc.constantFrom(undefined, ...nodeNames),
  stopsDaemonSets: fc.boolean(),
})

type ClusterSeed = typeof clusterSeeds extends fc.Arbitrary<infer Seed> ? Seed : never

function clusterOf(seed: ClusterSeed): FixtureCluster {
  const cluster = new FixtureCluster()
  const { max, soak, lead, minReadySeconds, onNodeLost } = seed
  const limits = seed.hasZones ? [{ name: 'zones', groupBy: 'zone', max: 1 }] : []
  const { status: _, ...made } = budget({
    max,
    limits,
    onNodeLost,
    timing: { soak, lead, minReadySeconds, heartbeatTimeout: '60s' },
    ...(seed.stopsDaemonSets ? { defaults: { drain: { stopDaemonSets: [shipper] } } } : {}),
    marks: { annotationsOf: ['Kured'], labelsWhileOut: { state: 'out' }, labelsAfter: { state: 'back' } },
  })
  cluster.put('budget', made)
  cluster.daemonSets = new Map([['log', { metadata: { ...shipper, uid: 'log' } }]])
  for (const name of nodeNames) {
    const zone: Record<string, string> = name === 'c' ? {} : { zone: 'z' }
    const readySince = '2026-02-01T00:00:00Z'
    cluster.put(
      `node/${name}`,
      node(name, { labels: zone, bootID: `boot-${name}`, readySince, isCordoned: seed.cordoned === name }),
    )
    cluster.pods.set(name, [pod(`${name}-1`), pod(`${name}-2`), pod(`${name}-log`, { ownerReferences: ofShipper })])
    cluster.machines.set(name, {
      bootID: `boot-${name}`,
      isAgentAlive: seed.mute !== name,
      lastBeatMs: cluster.nowMs,
      highest: 0,
      stubborn: new Set(seed.stubborn === name ? [`${name}-2`] : []),
    })
  }
  cluster.blockedNode = seed.blocked
  cluster.windowOpensMs = cluster.nowMs + hour
  for (const [index, one] of seed.requests.entries()) cluster.put(`request/r${index}`, requestOf(`r${index}`, one))
  return cluster
}

function requestOf(name: string, one: ClusterSeed['requests'][number]): MaintenanceRequest {
  const isHost = one.work !== 'External'
  return request(name, one.node, {
    metadata: { finalizers: one.isSecured ? ['fettle.dev/give-back'] : [] },
    spec: {
      source: { kind: isHost ? 'File' : 'Person', key: one.key },
      work: one.work as MaintenanceRequest['spec']['work'],
      service: one.isCordoning ? { cordon: true, drain: true } : { cordon: false, drain: false },
      windows: one.inWindow ? ['night'] : [],
      drain: { onDeadline: one.onDeadline as 'Hold' },
      priority: one.priority,
      reason: one.reason,
    },
  })
}

const deeds = [
  ...['ledger', 'ledger', 'ledger', 'request', 'request', 'request', 'request', 'request', 'request', 'agent', 'agent'],
  ...['deliver', 'time', 'time', 'return', 'delete', 'verb', 'uncordon', 'unready', 'ready', 'fail', 'agent'],
  ...['freeze', 'thaw', 'max', 'loseLedger', 'oldLedger', 'dropNode', 'dropCordon', 'dropName', 'lie', 'vanish'],
] as const
const steps = fc.record({
  deed: fc.constantFrom(...deeds),
  which: fc.nat({ max: 11 }),
  lag: fc.nat({ max: 15 }),
  fate: fc.constantFrom<Fate>('whole', 'whole', 'whole', 'cut', 'late'),
})
type Step = typeof steps extends fc.Arbitrary<infer One> ? One : never

/** Anything that machines, people and the network do. */
function happen(
  cluster: FixtureCluster,
  { deed, which, lag, fate }: Step,
  old: { ledger?: ReturnType<typeof budget> },
): void {
  const names = cluster.requests.map(({ metadata }) => metadata.name ?? '')
  const name = names[which % Math.max(1, names.length)] ?? ''
  const nodeName = nodeNames[which % nodeNames.length] ?? 'a'
  const turn = { fate, lag: cluster.keys[lag] }
  const one = cluster.request(name)
  const seen = cluster.node(nodeName)
  switch (deed) {
    case 'ledger':
      cluster.ledgerTurn(turn)
      return
    case 'request':
      cluster.requestTurn(name, turn)
      return
    case 'agent':
      cluster.agentTurn(name)
      return
    case 'deliver':
      cluster.deliver()
      return
    case 'time':
      cluster.nowMs += [1_000, 61_000, 600_000, 2 * hour][which % 4] ?? 0
      return
    case 'return':
      if (one) cluster.put(`request/${name}`, { ...one, spec: { ...one.spec, want: 'Return' } })
      return
    case 'delete':
      if (!one) return
      if (one.metadata.finalizers?.length === 0) cluster.drop(`request/${name}`)
      else cluster.put(`request/${name}`, { ...one, metadata: { ...one.metadata, deletionTimestamp: cluster.now } })
      return
    case 'verb': {
      const verb = requestVerbs[which % requestVerbs.length] ?? 'retry'
      if (one)
        cluster.put(`request/${name}`, {
          ...one,
          metadata: { ...one.metadata, annotations: { [verbAnnotations.verb]: verb } },
        })
      return
    }
    case 'uncordon':
      if (seen) cluster.put(`node/${nodeName}`, { ...seen, spec: {} })
      return
    case 'dropCordon':
      if (seen) cluster.put(`node/${nodeName}`, { ...seen, spec: {}, metadata: { ...seen.metadata, annotations: {} } })
      return
    case 'dropName': {
      const { [ownName]: _, ...annotations } = seen?.metadata.annotations ?? {}
      if (seen) cluster.put(`node/${nodeName}`, { ...seen, metadata: { ...seen.metadata, annotations } })
      return
    }
    case 'unready':
    case 'ready': {
      const ready = {
        type: 'Ready',
        status: deed === 'ready' ? 'True' : 'False',
        lastTransitionTime: cluster.now,
      } as const
      const others = seen?.status?.conditions?.filter(({ type }) => type !== 'Ready') ?? []
      if (seen) cluster.put(`node/${nodeName}`, { ...seen, status: { ...seen.status, conditions: [...others, ready] } })
      return
    }
    case 'fail':
      if (one?.status?.host) cluster.report(name, { ...one.status.host, failure: 'exit 1' })
      return
    case 'lie':
      if (one?.status?.host)
        cluster.report(name, { ...one.status.host, tokens: { highest: which % 2 ? 50 : 5_000_000 } })
      return
    case 'freeze':
      cluster.freeze = { message: 'all stops' }
      return
    case 'thaw':
      cluster.freeze = undefined
      return
    case 'max':
      cluster.put('budget', { ...cluster.budget, spec: { ...cluster.budget.spec, max: which % 4 } })
      return
    case 'loseLedger': {
      const { status: _, ...rest } = cluster.budget
      cluster.hasLostLedger = true
      old.ledger = cluster.budget as ReturnType<typeof budget>
      cluster.put('budget', { ...rest, metadata: { ...rest.metadata, uid: `ledger-${which}` } })
      return
    }
    case 'oldLedger':
      if (!old.ledger) {
        old.ledger = cluster.budget as ReturnType<typeof budget>
        return
      }
      cluster.hasLostLedger = true
      cluster.put('budget', old.ledger)
      return
    case 'dropNode':
      // One of them is enough: else most worlds end empty.
      if (nodeName === 'c') cluster.drop('node/c')
      return
    case 'vanish':
      if (which === 0 && one) cluster.drop(`request/${name}`)
      return
  }
}

const mostRounds = 600

/** From here on nothing goes wrong any more. Answers whether it came to rest. */
function calm(cluster: FixtureCluster): boolean {
  cluster.deliver()
  cluster.freeze = undefined
  const startedMs = cluster.nowMs
  let quiet = 0
  for (let round = 0; round < mostRounds; round++) {
    const before = cluster.writes
    const wakeTimes = [cluster.ledgerTurn() ?? Number.POSITIVE_INFINITY]
    for (const { metadata } of cluster.requests) {
      const step = cluster.requestTurn(metadata.name ?? '')
      if (step?.do === 'nothing' && step.lookAgainMs !== undefined) wakeTimes.push(cluster.nowMs + step.lookAgainMs)
      if (step?.do === 'drain') wakeTimes.push(cluster.nowMs + 60_000)
      cluster.agentTurn(metadata.name ?? '')
    }
    // Who is patient gets rid of the last pod.
    if (cluster.nowMs > startedMs + 4 * hour) for (const machine of cluster.machines.values()) machine.stubborn.clear()
    if (cluster.writes > before) {
      quiet = 0
      continue
    }
    const wakeMs = Math.min(...wakeTimes)
    if (!Number.isFinite(wakeMs) && ++quiet > 1) return true
    if (Number.isFinite(wakeMs)) cluster.nowMs = Math.max(wakeMs, cluster.nowMs + 1)
  }
  return false
}

function textOf(cluster: FixtureCluster): string {
  const requests = cluster.requests.map(({ metadata, spec, status }) => {
    const { history: _, conditions, ...rest } = status ?? {}
    return {
      name: metadata.name,
      deleted: metadata.deletionTimestamp,
      spec,
      ...rest,
      conditions: conditions?.map((c) => `${c.type}=${c.status}/${c.reason}`),
    }
  })
  return JSON.stringify({ now: cluster.now, budget: cluster.budget, requests, nodes: cluster.nodes }, null, 1)
}

test('whatever happens, the queue comes to rest, keeps its limits on the way, and leaves no trace of itself', {
  timeout: 120_000,
}, () => {
  fc.assert(
    fc.property(clusterSeeds, fc.array(steps, { maxLength: 120, size: 'max' }), (seed, story) => {
      const cluster = clusterOf(seed)
      const old = {}
      for (const step of story) happen(cluster, step, old)
      const isAtRest = calm(cluster)
      expect(cluster.faults).toEqual([])
      if (!isAtRest) throw new Error(`it does not come to rest: ${textOf(cluster)}`)
      const open = cluster.requests.filter(isOpen)
      for (const one of open) {
        const { phase, waiting } = one.status ?? {}
        const sharers = open.filter(
          ({ spec, metadata }) => spec.nodeUID === one.spec.nodeUID && metadata.name !== one.metadata.name,
        )
        const isBehind = phase === 'Claimed' && sharers.some(({ status }) => status?.phase === 'Held')
        if (phase !== 'Held' && !(phase === 'Queued' && waiting) && !isBehind)
          throw new Error(`${one.metadata.name} rests in ${phase} without a reason: ${textOf(cluster)}`)
      }
      const held = new Set([
        ...(cluster.budget.status?.slots ?? []).map(({ nodeUID }) => nodeUID),
        ...open.map(({ spec }) => spec.nodeUID),
      ])
      const has = (...named: readonly Step['deed'][]) => story.some(({ deed }) => named.includes(deed))
      // Request, name and ledger were all torn away: nothing says whose cordon it is, so it stays, and counts as one.
      const isUnknown = has('vanish') && has('dropName') && has('loseLedger', 'oldLedger')
      for (const one of cluster.nodes) {
        const says = one.status?.conditions?.some(({ reason }) => reason === 'FettleMaintenance') ?? false
        const bears =
          isCordonedBy(one, cordonOwner) ||
          hasStopTaint(one, cordonOwner) ||
          says ||
          (isCordonLeftOver(one) && !isUnknown)
        if (bears && !held.has(one.metadata.uid ?? ''))
          throw new Error(`${one.metadata.name} was left behind: ${textOf(cluster)}`)
        // With the cordon somebody took away what was noted of them.
        const isNoteLost = has('dropCordon', 'dropName')
        const isMarked =
          one.metadata.annotations?.[inProgress] !== undefined || one.metadata.labels?.['state'] === 'out'
        if (isMarked && !isNoteLost && !held.has(one.metadata.uid ?? ''))
          throw new Error(`${one.metadata.name} still bears marks: ${textOf(cluster)}`)
      }
    }),
    { numRuns: Number(process.env['FETTLE_QUEUE_CASES'] ?? 150) },
  )
})
