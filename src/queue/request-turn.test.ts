import { expect, test } from 'vitest'
import { EvictionPace } from '../drain/index.ts'
import { ApiError, type EventNote, type NodeObject, type PodObject } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { budget, cordonedNode, earlier, heldSlot, node, noon, pod, request, slot } from './fixture-world.ts'
import { Heartbeats } from './heartbeats.ts'
import type { QueuePorts } from './ports.ts'
import { ReportPace } from './report-pace.ts'
import { takeRequestTurn } from './request-turn.ts'

const infra = { role: 'infra' }
const labels = { 'app.kubernetes.io/name': 'fettle', 'app.kubernetes.io/component': 'controller' }
const ownPod: PodObject = {
  ...pod('fettle-controller-x', { namespace: 'fettle-system', labels }),
  spec: { nodeSelector: infra },
}

/** The node as it is while its drain goes on. */
function draining(): NodeObject {
  const here = cordonedNode('here', { labels: infra, token: 3 })
  const said = { MaintenancePlanned: 'new fan', DrainInProgress: 'pods are asked to leave' }
  const conditions = Object.entries(said).map(([type, message]) => {
    return { type, status: 'True', reason: 'FettleMaintenance', message, lastTransitionTime: earlier }
  })
  return { ...here, status: { conditions: [...(here.status?.conditions ?? []), ...conditions] } }
}

/** What one turn of a request does whose node runs only the controller itself. */
async function turnNextTo(...others: NodeObject[]): Promise<string[]> {
  const done: string[] = []
  const nodes = [draining(), ...others]
  const one = request('r', 'here', { status: { phase: 'Claimed', since: earlier, slot: heldSlot(3) } })
  const clock = new FakeClock(Date.parse(noon))
  const of = <T extends { readonly metadata: { readonly name?: string } }>(...objects: T[]) => ({
    get: ({ name }: { readonly name: string }) => objects.find(({ metadata }) => metadata.name === name),
    values: () => objects.values(),
    byIndex: () => objects,
  })
  const ports = {
    client: {
      evict: async ({ name }: { readonly name: string }) => void done.push(`evict ${name}`),
      replace: async (_: unknown, { status }: typeof one) => void done.push(`write ${status?.phase}`),
      async *list() {
        yield { items: [ownPod], resourceVersion: '1' }
      },
    },
    views: {
      nodes: of(...nodes),
      pods: of(ownPod),
      disruptionBudgets: of(),
      requests: of(one),
      budgets: of(budget({}, slot('here', 3, 'r'))),
      daemonSets: of(),
      heartbeats: of(),
    },
    heartbeats: new Heartbeats(clock),
    offersEvictionRequest: false,
    ownNamespace: 'fettle-system',
    clock,
    recorder: { record: () => undefined },
    log: { info: () => undefined, warn: () => undefined },
  } as unknown as QueuePorts
  const parts = { ports, pace: new EvictionPace(() => 0), reports: new ReportPace(), waiting: undefined }
  await takeRequestTurn(parts, 'r', new AbortController().signal)
  return done
}

test('a controller that is pinned to the only node of its kind is not drained away: nobody would finish the drain', async () => {
  expect(await turnNextTo(node('b'))).toEqual(['write Granted'])
})

test('a controller leaves for another node that it may run on', async () => {
  expect(await turnNextTo(node('b'), node('c', { labels: infra }))).toEqual([
    'write Claimed',
    'evict fettle-controller-x',
  ])
})

/** The turns of a request for a node that the API server lets nobody change, until it does. */
function refusedTurns() {
  const refuses = {
    code: 'Forbidden' as 'Forbidden' | 'Unavailable' | undefined,
    sentence: 'a policy denied the request',
  }
  const done: string[] = []
  const clock = new FakeClock(Date.parse(noon))
  let stored = request('r', 'a', { status: { phase: 'Claimed', since: noon, slot: heldSlot(3) } })
  let seen = node('a')
  const of = (...objects: object[]) => ({
    get: () => objects[0],
    values: () => objects.values(),
    byIndex: () => objects,
  })
  const ports = {
    client: {
      patch: async (_: unknown, __: unknown, { body }: { readonly body: NodeObject }, to: { subresource?: string }) => {
        const what = to.subresource === 'status' ? 'conditions' : 'cordon'
        const { code } = refuses
        done.push(`${code ? 'refused' : 'patch'} ${what}`)
        if (code) throw new ApiError({ code, method: 'PATCH', path: '/api/v1/nodes/a', seen: refuses.sentence })
        const annotations = { ...seen.metadata.annotations, ...body.metadata.annotations }
        seen = { ...seen, metadata: { ...seen.metadata, annotations }, spec: { ...seen.spec, ...body.spec } }
      },
      replace: async (_: unknown, changed: typeof stored) => {
        const refusals = (changed.status?.conditions ?? []).filter(({ type }) => type.endsWith('Refused'))
        done.push(`write ${changed.status?.phase} ${refusals.map(({ type }) => type).join()}`.trim())
        stored = changed
      },
    },
    get views() {
      const budgets = of(budget({}, slot('a', 3, 'r')))
      const none = of()
      const views = { pods: none, disruptionBudgets: none, daemonSets: none, heartbeats: none }
      return { ...views, nodes: of(seen), requests: of(stored), budgets }
    },
    heartbeats: new Heartbeats(clock),
    offersEvictionRequest: false,
    ownNamespace: 'fettle-system',
    clock,
    recorder: { record: ({ type, reason, note }: EventNote) => void done.push(`${type} ${reason} ${note}`) },
    log: { info: () => undefined, warn: (_: object, message: string) => void done.push(message) },
  } as unknown as QueuePorts
  const parts = { ports, pace: new EvictionPace(() => 0), reports: new ReportPace(), waiting: undefined }
  const turn = async () => {
    const again = await takeRequestTurn(parts, 'r', new AbortController().signal)
    return { did: done.splice(0), again: again?.lookAgainMs }
  }
  return { turn, refuses, clock, status: () => stored.status }
}

test('a refused change of a node is told once, tried again without a write, held in the end, and forgotten when it passes', async () => {
  const { turn, refuses, clock, status } = refusedTurns()
  const logged = 'the API server refuses a change of the node'
  // What the node would say of itself is a courtesy: the cordon is next.
  expect(await turn()).toMatchObject({ did: ['refused conditions', 'write Claimed NodeStatusRefused', logged] })
  expect((await turn()).did).toEqual([
    'refused cordon',
    'write Claimed NodeStatusRefused,NodeRefused',
    logged,
    expect.stringMatching(/^Warning MaintenanceRefused .* for r, .*: a policy denied the request$/),
  ])
  expect(status()?.conditions?.at(-1)).toMatchObject({ reason: 'Forbidden', message: 'a policy denied the request' })
  await clock.advance(10_000)
  refuses.sentence = 'a policy denied the request at 12:00:10'
  expect(await turn(), 'not for each sentence that names the time').toEqual({ did: ['refused cordon'], again: 10_000 })
  refuses.code = undefined
  expect((await turn()).did).toEqual(['patch cordon'])
  expect((await turn()).did).toEqual(['write Claimed'])
})

test('a refused cordon is held after the deadline of the drain', async () => {
  const { turn, clock, status } = refusedTurns()
  await turn()
  await turn()
  await clock.advance(1_800_000)
  await turn()
  expect(status()).toMatchObject({ phase: 'Held', held: { reason: 'DrainDeadline' } })
})

test('what may pass by itself is no refusal: nothing is written, and the turn is tried again', async () => {
  const { turn, refuses } = refusedTurns()
  refuses.code = 'Unavailable'
  await expect(turn()).rejects.toThrow('Unavailable')
})
