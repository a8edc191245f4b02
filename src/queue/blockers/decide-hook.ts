import * as z from 'zod'
import { group, type MaintenanceRequest, version } from '../../api/index.ts'
import type { NodeObject } from '../../kube/index.ts'
import type { Answer, Shown } from './decide-answer.ts'

/** What a hook is sent. Fields are added at times, and never taken away. */
export function hookQuestion(blocker: string, node: NodeObject, { metadata, spec }: MaintenanceRequest): object {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'BlockerQuestion',
    blocker,
    node: { name: node.metadata.name, uid: node.metadata.uid, labels: node.metadata.labels ?? {} },
    request: {
      name: metadata.name,
      uid: metadata.uid,
      source: spec.source,
      reason: spec.reason,
      priority: spec.priority,
      work: spec.work,
      ...(spec.requestedBy === undefined ? {} : { requestedBy: spec.requestedBy }),
    },
  }
}

const verdict = z.object({ allow: z.boolean(), message: z.string().optional() })

export function decideHook(status: number, body: unknown, shown: Shown): Answer {
  const answer = verdict.safeParse(body)
  if (status !== 200 || !answer.success)
    return { mayLeave: 'unknown', why: `answered ${status} without {"allow": true} or {"allow": false}` }
  if (answer.data.allow) return { mayLeave: 'yes' }
  return { mayLeave: 'no', why: shown(answer.data.message ?? '') || 'the hook does not allow it' }
}
