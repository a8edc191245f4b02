import type { PodObject } from '../../kube/index.ts'
import { durationText } from '../../time/index.ts'
import type { JsonObject } from '../json.ts'
import { listAt, textAt } from './fields.ts'
import { type PodProblem, problemText } from './pod.ts'
import { podsOf, worstProblem } from './pods-of.ts'
import { type Replicas, replicasOf, replicasText } from './replicas.ts'

/** How far a workload is on its way to what its spec says. */
export interface Rollout extends Replicas {
  readonly revision?: string
  readonly images: readonly string[]
  /** When its controller last saw it come nearer. */
  readonly progressedAt?: string
  readonly problem?: PodProblem
}

/** Nothing for kinds that do not roll out. */
export function rolloutOf(object: JsonObject, pods: readonly PodObject[], nowMs: number): Rollout | undefined {
  const replicas = replicasOf(object)
  if (!replicas) return undefined
  const revision =
    textAt(object, 'metadata', 'annotations', 'deployment.kubernetes.io/revision') ??
    textAt(object, 'status', 'updateRevision')
  const conditions = listAt(object, 'status', 'conditions')
  const progressing = conditions.find((one) => textAt(one, 'type') === 'Progressing')
  const progressedAt = textAt(progressing, 'lastUpdateTime')
  const problem = worstProblem(podsOf(object, pods), { nowMs, unschedulableMs: 0 })
  const images = listAt(object, 'spec', 'template', 'spec', 'containers').flatMap((one) => textAt(one, 'image') ?? [])
  return {
    ...replicas,
    images,
    ...(revision === undefined ? {} : { revision }),
    ...(progressedAt === undefined ? {} : { progressedAt }),
    ...(problem === undefined ? {} : { problem }),
  }
}

/** One line: `1/3 updated, 1/3 ready, 1/3 available; revision 4; image web:2; last progress 12s ago; pod …`. */
export function rolloutText(rollout: Rollout, nowMs: number): string {
  const { revision, images, progressedAt, problem } = rollout
  const quietMs = nowMs - Date.parse(progressedAt ?? '')
  const parts = [
    replicasText(rollout),
    ...(revision === undefined ? [] : [`revision ${revision}`]),
    ...(images.length === 0 ? [] : [`image ${images.join(', ')}`]),
    ...(Number.isNaN(quietMs)
      ? []
      : [`last progress ${durationText(Math.max(0, Math.floor(quietMs / 1_000) * 1_000))} ago`]),
    ...(problem === undefined ? [] : [problemText(problem)]),
  ]
  return parts.join('; ')
}
