import type { JsonObject } from '../json.ts'
import { numberAt, textAt } from './fields.ts'

/** How far a workload is. */
export interface Replicas {
  readonly wanted: number
  /** All there are, of whatever version. */
  readonly present: number
  readonly updated: number
  readonly ready: number
  readonly available: number
}

const ofReplicas = {
  present: 'replicas',
  updated: 'updatedReplicas',
  ready: 'readyReplicas',
  available: 'availableReplicas',
}
const ofNodes = {
  present: 'currentNumberScheduled',
  updated: 'updatedNumberScheduled',
  ready: 'numberReady',
  available: 'numberAvailable',
}
const ofOneVersion = { ...ofReplicas, updated: 'fullyLabeledReplicas' }

const fieldsOf: Readonly<Record<string, typeof ofReplicas>> = {
  Deployment: ofReplicas,
  StatefulSet: ofReplicas,
  ReplicaSet: ofOneVersion,
  ReplicationController: ofOneVersion,
  DaemonSet: ofNodes,
}

/** The numbers of a workload; nothing for other kinds. */
export function replicasOf(object: JsonObject): Replicas | undefined {
  const kind = textAt(object, 'kind') ?? ''
  const fields = fieldsOf[kind]
  if (!fields) return undefined
  const count = (field: string) => numberAt(object, 'status', field) ?? 0
  return {
    wanted: kind === 'DaemonSet' ? count('desiredNumberScheduled') : (numberAt(object, 'spec', 'replicas') ?? 1),
    present: count(fields.present),
    updated: count(fields.updated),
    ready: count(fields.ready),
    available: count(fields.available),
  }
}

/** `2/3 updated, 1/3 ready, 1/3 available`. */
export function replicasText({ wanted, present, updated, ready, available }: Replicas): string {
  const surplus = present > wanted ? [`${present - wanted} surplus`] : []
  const parts = [`${updated}/${wanted} updated`, `${ready}/${wanted} ready`, `${available}/${wanted} available`]
  return [...parts, ...surplus].join(', ')
}
