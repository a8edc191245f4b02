import { isDeepStrictEqual } from 'node:util'
import type { MaintenanceRequest } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'

/** Which changes are worth another look at the whole line; thousands of nodes and requests change all the time. */

/** Anything but what it was told of its place in the line. */
export function mattersToLine(request: MaintenanceRequest, old: MaintenanceRequest | undefined): boolean {
  return old === undefined || !isDeepStrictEqual(askedOf(request), askedOf(old))
}

function askedOf({ metadata, spec, status }: MaintenanceRequest): unknown {
  const { resourceVersion: _, ...identity } = metadata
  const { waiting, ...rest } = status ?? {}
  return [identity, spec, rest, waiting?.passedSince]
}

/** Anything but a sign of life: a node says every few minutes that it is still as it was. */
export function mattersToLedger(node: NodeObject, old: NodeObject | undefined): boolean {
  return old === undefined || !isDeepStrictEqual(seenOf(node), seenOf(old))
}

function seenOf({ metadata, spec, status }: NodeObject): unknown {
  const { uid, labels, annotations, deletionTimestamp } = metadata
  const conditions = status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason])
  return [uid, labels, annotations, deletionTimestamp, spec, conditions]
}
