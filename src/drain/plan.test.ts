import { describe, expect, test } from 'vitest'
import type { PodObject } from '../kube/index.ts'
import { budget, critical, daemonSets, ofPriority, owner, pod, stopped, world } from './fixture-pods.ts'
import { type DrainPlan, type PodToAsk, planDrain } from './plan.ts'

const names = (asks: readonly PodToAsk[]) => asks.map(({ pod: { metadata } }) => metadata.name)
const refused = (plan: DrainPlan) =>
  plan.refusals.map(({ pod: { metadata }, neverPasses }) => [metadata.name, neverPasses])
const leaving = { deletionTimestamp: '2026-03-01T11:59:59Z' }
const three = ['a', 'b', 'c'].map((name) => pod(name))

describe('a plan', () => {
  test('asks as many pods as their budget has to give, and names the others', () => {
    const plan = planDrain(world(three, { budgets: [budget(2)] }))
    expect(plan.askNow).toEqual(three.slice(0, 2).map((one) => ({ pod: one, how: 'evict', budget: budget(2) })))
    expect(refused(plan)).toEqual([['c', false]])
    expect(plan.left).toEqual(three)
    expect(plan.askLater).toEqual([])
  })

  test('keeps one pod in mind of a budget that seems to have nothing to give', () => {
    const plan = planDrain(world(three, { budgets: [budget(0)] }))
    expect(plan.askNow).toEqual([])
    expect(names(plan.askLater)).toEqual(['a'])
    expect(plan.waitsFor).toBe('still there: 3 pods, cannot leave now: 3')
  })

  test('never asks where no answer could be yes', () => {
    const never = { ...budget(0), spec: { ...budget(0).spec, maxUnavailable: 0 } }
    const plan = planDrain(world(three, { budgets: [never] }))
    expect([plan.askNow, plan.askLater]).toEqual([[], []])
    expect(refused(plan)).toEqual(three.map(({ metadata }) => [metadata.name, true]))
  })

  test('does not let pods draw from a budget of another namespace', () => {
    const plan = planDrain(world([pod('a', { namespace: 'bank' }), pod('b')], { budgets: [budget(0)] }))
    expect(names(plan.askNow)).toEqual(['a'])
  })

  test('lets a pod that has finished go without drawing from its budget', () => {
    const plan = planDrain(world([pod('a', {}, 'Succeeded'), pod('b')], { budgets: [budget(1)] }))
    expect(names(plan.askNow)).toEqual(['a', 'b'])
    expect(plan.refusals).toEqual([])
  })

  test('waits for pods that are leaving, and not for those that stay or are stuck', () => {
    const going = pod('a', leaving)
    const stays = pod('b', { ownerReferences: owner('DaemonSet') })
    const stuck = pod('c', { deletionTimestamp: '2026-03-01T11:00:00Z' })
    const plan = planDrain(world([going, stays, stuck], { isNodeReady: false }))
    expect(plan).toMatchObject({ askNow: [], left: [going], refusals: [] })
    expect(plan.fates.map(({ fate }) => fate)).toEqual(['leaving', 'stay', 'stuck'])
    expect(plan.waitsFor).toBe('still there: 1 pod, stopping: 1')
  })

  test('refuses a pod without a controller, and asks the others all the same', () => {
    const alone = pod('alone', { ownerReferences: [] })
    const plan = planDrain(world([alone, pod('b')]))
    expect(names(plan.askNow)).toEqual(['b'])
    expect(refused(plan)).toEqual([['alone', true]])
    expect(plan.left).toHaveLength(2)
  })

  test('tells what the server said to a pod that is asked again', () => {
    const plan = planDrain(world([pod('a')], { answers: new Map([['a', 'no room']]) }))
    expect(names(plan.askNow)).toEqual(['a'])
    expect(plan.refusals).toEqual([{ pod: pod('a'), why: 'no room', neverPasses: false }])
  })

  test('of an empty node has nothing left', () => {
    expect(planDrain(world([], { budgets: [budget(0)] }))).toEqual({
      fates: [],
      askNow: [],
      askLater: [],
      left: [],
      stage: undefined,
      refusals: [],
      waitsFor: 'all pods have left',
    })
  })
})

describe('stages', () => {
  const own = pod('own')
  const around = { ownPods: ({ metadata }: PodObject) => metadata.name === 'own', hasOtherNodes: true }
  const dns = ofPriority('dns', critical)
  const asked = (pods: readonly PodObject[], settings = {}) =>
    names(planDrain(world(pods, { ...around, settings })).askNow)

  test('critical pods go when all others have left, our own last of all', () => {
    expect(asked([own, dns, pod('a')])).toEqual(['a'])
    expect(asked([own, dns, pod('a', leaving)])).toEqual([])
    expect(asked([own, dns])).toEqual(['dns'])
    expect(asked([own, ofPriority('dns', critical, leaving)])).toEqual([])
    expect(asked([own])).toEqual(['own'])
  })

  const daemon = { ownerReferences: owner('DaemonSet') }
  const shipper = ofPriority('shipper', critical, daemon)

  test('DaemonSets that are to be stopped serve all others until they are gone', () => {
    const next = (pods: readonly PodObject[], settings = {}) =>
      names(planDrain(world(pods, { ...around, ...stopped, settings: { ...stopped.settings, ...settings } })).askNow)
    expect(next([shipper, own, dns, pod('a')])).toEqual(['a'])
    expect(next([shipper, own, dns])).toEqual(['dns'])
    expect(next([shipper, own])).toEqual(['own'])
    expect(next([shipper, pod('own', leaving)])).toEqual([])
    expect(next([shipper])).toEqual(['shipper'])
    const forced = { isForced: true }
    expect(next([shipper, dns, pod('a')], forced)).toEqual(['a', 'dns'])
    expect(next([shipper, ofPriority('dns', critical, leaving)], forced)).toEqual([])
    expect(next([shipper], forced)).toEqual(['shipper'])
  })

  test('a drain is not over before they are gone, and says that they come', () => {
    const waitsFor = (...pods: PodObject[]) => planDrain(world(pods, stopped)).waitsFor
    expect(waitsFor(pod('a'), shipper)).toBe('still there: 1 pod, then 1 DaemonSet pod')
    const going = pod('shipper', { ...daemon, ...leaving })
    expect(planDrain(world([going], stopped)).left).toEqual([going])
    expect(waitsFor(going)).toBe('still there: 1 DaemonSet pod, stopping: 1')
  })

  test('one that would start its pods again is not waited for, and the end of the drain says so', () => {
    const two = ['a', 'b'].map((name) => pod(name, daemon))
    const plan = planDrain(world(two, { ...stopped, daemonSets: daemonSets({}) }))
    expect(plan).toMatchObject({ askNow: [], left: [], refusals: [] })
    expect(plan.waitsFor).toBe(
      'all pods have left; DaemonSet shop/web cannot be stopped: it tolerates the taint drain.fettle.dev/stopped-daemonsets and would start its pod again; write keys into its tolerations, or take it off the list',
    )
  })

  test('of several that would start their pods again the first is named, and the others counted', () => {
    const other = [...owner('DaemonSet')].map((one) => ({ ...one, name: 'net', uid: 'n' }))
    const template = { spec: { tolerations: [{}] } }
    const known = new Map([
      ...daemonSets({}),
      ['n', { metadata: { namespace: 'shop', name: 'net', uid: 'n' }, spec: { template } }],
    ])
    const names = ['web', 'net'].map((name) => ({ namespace: 'shop', name }))
    const pods = [pod('a', daemon), pod('b', daemon), pod('c', { ownerReferences: other })]
    const plan = planDrain(world(pods, { daemonSets: known, settings: { stopDaemonSets: names } }))
    expect(plan.waitsFor).toMatch(/^all pods have left; DaemonSet shop\/web cannot .* \(and 1 more\)$/)
  })

  test('a budget can keep a DaemonSet in service', () => {
    const plan = planDrain(world([pod('a', daemon)], { ...stopped, budgets: [budget(0)] }))
    expect(plan.askNow).toEqual([])
    expect(refused(plan)).toEqual([['a', false]])
  })

  test('pods that stay or are stuck hold nobody up', () => {
    const stays = pod('stays', { ownerReferences: owner('DaemonSet') })
    expect(asked([own, dns, stays])).toEqual(['dns'])
    const stuck = pod('stuck', { deletionTimestamp: '2026-03-01T11:00:00Z' })
    expect(names(planDrain(world([dns, stuck], { isNodeReady: false })).askNow)).toEqual(['dns'])
  })

  test('a pod that cannot leave keeps the critical ones in service', () => {
    const plan = planDrain(world([dns, pod('alone', { ownerReferences: [] })]))
    expect(plan.askNow).toEqual([])
    expect(plan.waitsFor).toBe('still there: 1 pod, cannot leave now: 1, then 1 system-critical pod')
  })

  test('within a stage the lowest priority goes first', () => {
    const pods = [ofPriority('high', 1000), pod('none'), ofPriority('low', -10)]
    const plan = planDrain(world(pods, { budgets: [budget(2)] }))
    expect(names(plan.askNow)).toEqual(['low', 'none'])
    expect(refused(plan)).toEqual([['high', false]])
  })

  test('of a later stage only what can never pass is told already', () => {
    const never = { ...budget(0), spec: { ...budget(0).spec, maxUnavailable: 0 } }
    const free = pod('a', { labels: {} })
    expect(refused(planDrain(world([dns, free], { budgets: [budget(0)] })))).toEqual([])
    expect(refused(planDrain(world([dns, free], { budgets: [never] })))).toEqual([['dns', true]])
  })

  test('a forced drain deletes all at once, but our own pods after the others were asked', () => {
    const forced = { isForced: true }
    expect(asked([own, dns, pod('a')], forced)).toEqual(['a', 'dns'])
    expect(asked([own, ofPriority('dns', critical, leaving), pod('a', leaving)], forced)).toEqual(['own'])
  })
})

describe('how pods are asked', () => {
  const how = (given: Parameters<typeof world>[1]) =>
    planDrain(world([pod('a')], { budgets: [budget(1)], ...given })).askNow.map((ask) => ask.how)

  test.for<readonly [string, Parameters<typeof world>[1], string]>([
    ['Auto, in doubt', {}, 'evict'],
    ['Auto, without EvictionRequest', { offersEvictionRequest: false }, 'evict'],
    ['Auto, with EvictionRequest', { offersEvictionRequest: true }, 'request'],
    ['Eviction, with EvictionRequest', { offersEvictionRequest: true, settings: { backend: 'Eviction' } }, 'evict'],
    ['EvictionRequest', { offersEvictionRequest: true, settings: { backend: 'EvictionRequest' } }, 'request'],
    ['Delete', { settings: { backend: 'Delete' } }, 'delete'],
    ['forced', { offersEvictionRequest: true, settings: { isForced: true } }, 'delete'],
  ])('%s', ([, given, expected]) => {
    expect(how(given)).toEqual([expected])
  })

  test.for([undefined, false])('EvictionRequest on a server that does not offer it (%s) asks nobody', (offers) => {
    const given = offers === undefined ? {} : { offersEvictionRequest: offers }
    const plan = planDrain(world(three, { ...given, settings: { backend: 'EvictionRequest' } }))
    expect([plan.askNow, plan.askLater]).toEqual([[], []])
    expect(plan.refusals).toHaveLength(3)
    expect(plan.refusals[0]).toMatchObject({
      why: 'the settings of the drain ask for EvictionRequest, which this server does not offer (lifecycle.k8s.io); ask for Auto or Eviction',
      neverPasses: true,
    })
  })

  test('by EvictionRequest all at once: who answers asks the budgets', () => {
    const plan = planDrain(world(three, { budgets: [budget(0)], offersEvictionRequest: true }))
    expect(names(plan.askNow)).toEqual(['a', 'b', 'c'])
  })

  test('a deletion that is under way has used up its share of the budget', () => {
    const pods = [pod('a', leaving), pod('b'), pod('c')]
    const asked = (backend: 'Delete' | 'Eviction') =>
      names(planDrain(world(pods, { budgets: [budget(2)], settings: { backend } })).askNow)
    expect([asked('Delete'), asked('Eviction')]).toEqual([['b'], ['b', 'c']])
  })

  test('a forced drain asks no budget', () => {
    const plan = planDrain(world(three, { budgets: [budget(0), budget(0)], settings: { isForced: true } }))
    expect(names(plan.askNow)).toEqual(['a', 'b', 'c'])
    expect(plan.refusals).toEqual([])
  })
})

test.for<readonly [string, number | undefined, number | undefined, number | undefined]>([
  ['its own, when nothing is said', 600, undefined, undefined],
  ['its own, when that is shorter', 60, 300_000, undefined],
  ['the longest that is allowed', 600, 300_000, 300],
  ['that of Kubernetes, when the pod says nothing', undefined, 10_000, 10],
  ['never 0, which would leave its processes alone', 30, 0, 1],
])('the grace period of a pod is %s', ([, own, gracePeriodMaxMs, expected]) => {
  const spec = own === undefined ? {} : { terminationGracePeriodSeconds: own }
  const settings = gracePeriodMaxMs === undefined ? {} : { gracePeriodMaxMs }
  expect(planDrain(world([{ ...pod('a'), spec }], { settings })).askNow[0]?.gracePeriodSeconds).toBe(expected)
})
