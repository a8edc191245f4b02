import type {
  MaintenanceBudget,
  MaintenanceRequest,
  MaintenanceRequestStatus,
  RequestCondition,
  Slot,
} from '../api/index.ts'
import type { NodeObject, PodObject } from '../kube/index.ts'
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
    readonly taints?: readonly string[]
    readonly bootID?: string
    readonly readySince?: string
  } = {},
): NodeObject {
  const { labels = {}, isReady = true, isCordoned = false, annotations = {}, taints = [], bootID, readySince } = more
  const ready = { type: 'Ready', status: isReady ? 'True' : 'False' } as const
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', labels, annotations },
    spec: {
      ...(isCordoned ? { unschedulable: true } : {}),
      ...(taints.length > 0 ? { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) } : {}),
    },
    status: {
      conditions: [{ ...ready, ...(readySince ? { lastTransitionTime: readySince } : {}) }],
      ...(bootID ? { nodeInfo: nodeInfo(bootID) } : {}),
    },
  }
}

export function nodeInfo(bootID: string) {
  return {
    bootID,
    machineID: 'm',
    systemUUID: 's',
    kernelVersion: '6.12.0',
    osImage: 'Linux',
    containerRuntimeVersion: 'containerd://2.0.0',
    kubeletVersion: 'v1.36.0',
    operatingSystem: 'linux',
    architecture: 'amd64',
  } as const
}

/** As the queue leaves it while it holds the node. */
export function cordonedNode(
  name: string,
  more: Parameters<typeof node>[1] & { readonly token?: number } = {},
): NodeObject {
  const claim = { request: 'uid-r', token: more.token ?? 1, since: earlier }
  const annotations = { 'cordon.fettle.dev/queue': JSON.stringify(claim), 'fettle.dev/cordon-prior': 'false' }
  return node(name, { ...more, isCordoned: true, annotations: { ...annotations, ...more.annotations } })
}

/** A pod that a ReplicaSet would start again elsewhere. */
export function pod(name: string, metadata: object = {}): PodObject {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'o', controller: true }
  return {
    metadata: { namespace: 'shop', name, uid: name, labels: { app: 'web' }, ownerReferences: [owner], ...metadata },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

export function condition(
  type: RequestCondition['type'],
  status: RequestCondition['status'] = 'True',
  more: Partial<RequestCondition> = {},
): RequestCondition {
  return { type, status, reason: 'Said', message: 'said', lastTransitionTime: earlier, ...more }
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
    ...(more.status ? { status: { history: [], ...more.status } } : {}),
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
    status: {
      nextToken: Math.max(0, ...slots.map(({ token }) => token)) + 1,
      slots,
      conditions: [
        { type: 'LedgerReady', status: 'True', reason: 'Ready', message: 'ready', lastTransitionTime: earlier },
      ],
    },
  }
}
