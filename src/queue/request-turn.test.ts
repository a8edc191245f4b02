import { expect, test } from 'vitest'
import { EvictionPace } from '../drain/index.ts'
import type { NodeObject, PodObject } from '../kube/index.ts'
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
