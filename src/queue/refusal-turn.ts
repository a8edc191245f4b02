import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import type { ApiError } from '../kube/index.ts'
import { isoNow, type QueuePorts } from './ports.ts'
import { refusalOf, withCondition } from './request-status.ts'

/** What was refused is tried again after this. */
const lookAgainMs = 10_000
/** A webhook may answer with a whole page. */
const mostOfSentence = 800

/** Told once, wherever people look. Not each sentence anew: some name the time, and would be written at every try. */
export async function noteRefusal(
  { clock, log, recorder }: Pick<QueuePorts, 'clock' | 'log' | 'recorder'>,
  request: MaintenanceRequest,
  type: 'NodeRefused' | 'NodeStatusRefused',
  { code, seen }: ApiError,
  save: (status: MaintenanceRequestStatus) => Promise<void>,
): Promise<{ readonly lookAgainMs: number }> {
  const { status } = request
  if (!status || refusalOf(status, type)?.reason === code) return { lookAgainMs }
  const fact = { type, status: 'True', reason: code, message: seen.slice(0, mostOfSentence) } as const
  await save(withCondition(status, fact, isoNow(clock)))
  const { nodeName, nodeUID } = request.spec
  const name = request.metadata.name ?? ''
  log.warn({ request: name, node: nodeName, type, why: fact.message }, 'the API server refuses a change of the node')
  // What the node says of itself holds nobody up.
  if (type === 'NodeRefused')
    recorder.record({
      regarding: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID },
      type: 'Warning',
      reason: 'MaintenanceRefused',
      action: 'Maintain',
      note: `the API server refuses to change the node for ${name}, which is tried again: ${fact.message}`,
    })
  return { lookAgainMs }
}
