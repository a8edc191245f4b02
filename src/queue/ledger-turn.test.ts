import { describe, expect, test } from 'vitest'
import { type MaintenanceBudget, releaseAnnotations } from '../api/index.ts'
import { ApiError, type KubeErrorCode, type KubeObject, type NodeObject } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { Census } from './census.ts'
import { budget, cordonedNode, earlier, node, noon, request, slot } from './fixture-world.ts'
import { takeLedgerTurn } from './ledger-turn.ts'
import { ledgerFinalizer } from './names.ts'
import type { QueuePorts } from './ports.ts'

/** It bears a mark of a turn that is over. */
function forgotten(name: string): NodeObject {
  const bare = node(name)
  const mark = {
    type: 'MaintenancePlanned',
    status: 'True',
    reason: 'FettleMaintenance',
    message: 'new fan',
    lastTransitionTime: earlier,
  }
  return { ...bare, status: { conditions: [...(bare.status?.conditions ?? []), mark] } } as NodeObject
}

const lonely = slot('ordered', 3)
const ordered: MaintenanceBudget = {
  ...budget({ max: 5 }, lonely),
  metadata: {
    ...budget().metadata,
    finalizers: [ledgerFinalizer],
    annotations: { [releaseAnnotations.slot]: lonely.nodeUID },
  },
}

/** One turn about a node whose slot a person frees, two with marks of old, and one that somebody waits for. */
function turnWith(refuse: (node: string) => Error | undefined, stop = new AbortController()) {
  const done: string[] = []
  const warned: string[] = []
  const objects: Readonly<Record<string, readonly KubeObject[]>> = {
    nodes: [cordonedNode('ordered', { token: 3 }), forgotten('old-a'), forgotten('old-b'), node('free')],
    maintenancerequests: [request('r', 'free', { status: { phase: 'Queued' } })],
    maintenancebudgets: [ordered],
  }
  const of = (plural: string) => {
    const all = objects[plural] ?? []
    return {
      get: ({ name }: { readonly name: string }) => all.find(({ metadata }) => metadata.name === name),
      values: () => all.values(),
      byIndex: () => [],
      stats: () => ({ isSynced: true, isConnected: true, lastContactAgeMs: 0, isCatchingUp: false }),
    }
  }
  const ports = {
    client: {
      get: async ({ plural }: { readonly plural: string }, ref: { readonly name: string }) => of(plural).get(ref),
      patch: async (_: unknown, { name }: { readonly name: string }) => {
        const error = refuse(name)
        if (error) throw error
        done.push(`patch ${name}`)
        return of('nodes').get({ name })
      },
      replace: async (_: unknown, { status }: MaintenanceBudget) =>
        void done.push(`slots ${status?.slots.map((one) => one.node).join(', ')}`),
    },
    views: {
      nodes: of('nodes'),
      pods: of('pods'),
      requests: of('maintenancerequests'),
      budgets: of('maintenancebudgets'),
      daemonSets: of('daemonsets'),
    },
    windows: { windows: of('windows'), freezes: of('freezes') },
    clock: new FakeClock(Date.parse(noon)),
    log: {
      info: () => undefined,
      warn: ({ node: name }: { readonly node?: string }, message: string) => void warned.push(`${name}: ${message}`),
    },
  } as unknown as QueuePorts
  return { done, warned, turn: takeLedgerTurn(ports, new Census(), new Set(), stop.signal) }
}

const fault = (code: KubeErrorCode) =>
  new ApiError({ code, method: 'PATCH', path: '/nodes', seen: 'a webhook said no' })

describe('a node that cannot be given back', () => {
  test('keeps its slot, and neither the other nodes nor the line wait for it', async () => {
    const { done, warned, turn } = turnWith((name) =>
      name === 'free' || name === 'old-b' ? undefined : fault('Forbidden'),
    )
    expect((await turn).touched).toEqual(['r'])
    expect(done).toEqual(['patch old-b', 'slots ordered, free'])
    expect(warned).toEqual([
      expect.stringMatching(/^old-a: the node cannot be given back/) as string,
      'old-b: the node bore marks of a turn that is over',
      expect.stringMatching(/^ordered: the node cannot be given back/) as string,
    ])
  })

  test('because somebody wrote to it meanwhile is looked at again soon, and nobody is warned', async () => {
    const { warned, turn } = turnWith((name) => (name === 'old-b' ? undefined : fault('Conflict')))
    expect((await turn).wakeAtMs).toBe(Date.parse(noon) + 2_000)
    expect(warned).toEqual(['old-b: the node bore marks of a turn that is over'])
  })

  test('because the turn is over ends the turn', async () => {
    const stop = new AbortController()
    const { done, warned, turn } = turnWith(() => {
      stop.abort(new Error('not the leader any more'))
      return fault('Unreachable')
    }, stop)
    await expect(turn).rejects.toThrow('not the leader any more')
    expect([...done, ...warned]).toEqual([])
  })
})
