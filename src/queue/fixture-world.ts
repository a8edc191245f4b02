import type { MaintenanceBudget, MaintenanceRequest, MaintenanceRequestStatus, Slot } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { finalizer } from './names.ts'

/** Worlds for tests: small, valid, and only what a test says is out of the ordinary. */

export const noon = '2026-03-01T12:00:00.000Z'
export const earlier = '2026-03-01T11:00:00.000Z'

export function node(
  name: string,
  more: {
    readonly labels?: Record<string, string>
    readonly isReady?: boolean
    readonly isCordoned?: boolean
    readonly annotations?: Record<string, string>
  } = {},
): NodeObject {
  const { labels = {}, isReady = true, isCordoned = false, annotations = {} } = more
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', labels, annotations },
    spec: isCordoned ? { unschedulable: true } : {},
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  }
}

/** As the queue leaves it while it holds the node. */
export function cordonedNode(name: string): NodeObject {
  return node(name, {
    isCordoned: true,
    annotations: { 'cordon.fettle.dev/queue': '{}', 'fettle.dev/cordon-prior': 'false' },
  })
}

export function request(
  name: string,
  nodeName: string,
  more: {
    readonly spec?: Partial<MaintenanceRequest['spec']>
    readonly status?: MaintenanceRequestStatus
    readonly metadata?: MaintenanceRequest['metadata']
  } = {},
): MaintenanceRequest {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: earlier,
      finalizers: [finalizer],
      ...more.metadata,
    },
    spec: {
      nodeName,
      nodeUID: `uid-${nodeName}`,
      source: { kind: 'Person', key: name },
      reason: 'new fan',
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...more.spec,
    },
    ...(more.status ? { status: more.status } : {}),
  }
}

export function slot(nodeName: string, token: number, ...requests: string[]): Slot {
  return { node: nodeName, nodeUID: `uid-${nodeName}`, token, takenAt: earlier, requests }
}

/** What a request's status says of its slot. */
export const heldSlot = (token: number) => ({ token, ledgerUID: 'uid-ledger', takenAt: earlier })

export function budget(spec: Partial<MaintenanceBudget['spec']> = {}, ...slots: Slot[]): MaintenanceBudget {
  return {
    metadata: { name: 'cluster', uid: 'uid-ledger', resourceVersion: '1' },
    spec: {
      max: 1,
      controlPlaneMax: 1,
      countUnavailable: ['NotReady', 'Cordoned'],
      profiles: 'Off',
      onNodeLost: 'Hold',
      ...spec,
    },
    status: { nextToken: Math.max(0, ...slots.map(({ token }) => token)) + 1, slots },
  }
}
