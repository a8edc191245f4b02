import { budgetName, rebootAnnotation } from '../api/index.ts'
import type { NodePatch } from '../drain/index.ts'
import { type NodeObject, resources } from '../kube/index.ts'
import { makeRequest } from './make-request.ts'
import { controllerManager, nameOf } from './names.ts'
import type { QueuePorts } from './ports.ts'
import { isWaiting, queuedTaintAnnotation, queuedTaintPatch } from './queued-taint.ts'
import { answerAnnotation } from './reboot-annotation.ts'
import { requestsOfNode } from './views.ts'

/** Whether something stands on a node that we answer. */
export function bearsOurs({ metadata: { annotations } }: NodeObject): boolean {
  return annotations?.[rebootAnnotation] !== undefined || annotations?.[queuedTaintAnnotation] !== undefined
}

/** Does the one next thing for a node itself: answers what somebody wrote on it, and shows that it waits. */
export async function takeNodeTurn(ports: QueuePorts, name: string, signal: AbortSignal): Promise<void> {
  const { views, log, recorder } = ports
  const node = views.nodes.get({ name })
  const budget = views.budgets.get({ name: budgetName })
  if (!node || !budget) return
  const { uid = '' } = node.metadata
  const requests = requestsOfNode(views, uid)
  const answer = answerAnnotation(node, requests)
  if (!answer) {
    const patch = queuedTaintPatch(node, isWaiting(requests), budget.spec.marks)
    if (patch) await patchNode(ports, name, patch, signal)
    return
  }
  if ('make' in answer) {
    await makeRequest(ports, answer.make, signal)
    log.info({ request: nameOf(answer.make), node: name }, 'an annotation asks for a reboot')
    return
  }
  await patchNode(ports, name, answer.patch, signal)
  recorder.record({
    regarding: { apiVersion: 'v1', kind: 'Node', name, uid },
    type: 'Normal',
    reason: 'RebootAnnotationAnswered',
    action: 'Maintain',
    note: `${answer.request} is over, so ${rebootAnnotation} was removed; to reboot again, write another reason`,
  })
}

async function patchNode({ client }: QueuePorts, name: string, body: NodePatch, signal: AbortSignal): Promise<void> {
  const options = { fieldManager: controllerManager, signal, answer: 'metadata' } as const
  await client.patch(resources.nodes, { name }, { type: 'merge', body }, options)
}
