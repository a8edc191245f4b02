import { isDeepStrictEqual } from 'node:util'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { askPods, type EvictionPace } from '../drain/index.ts'
import type { QueuePorts } from './ports.ts'
import type { ReportPace } from './report-pace.ts'
import type { RequestStep } from './request-steps.ts'

interface DrainTurnParts {
  readonly ports: Pick<QueuePorts, 'client' | 'clock' | 'log'>
  readonly pace: EvictionPace
  readonly reports: ReportPace
}

/** Even if every event were lost, a drain is looked at this often. */
const lookAnywayMs = 5_000

/** Asks the pods that may be asked now, and writes how far the drain is. Answers when to look again. */
export async function takeDrainTurn(
  { ports, pace, reports }: DrainTurnParts,
  request: MaintenanceRequest,
  step: Extract<RequestStep, { do: 'drain' }>,
  save: (status: MaintenanceRequestStatus) => Promise<void>,
  signal: AbortSignal,
): Promise<{ readonly lookAgainMs: number }> {
  const { client, clock, log } = ports
  const wasStarted = request.status?.drain !== undefined
  const isNews = !isDeepStrictEqual(request.status?.drain, step.status.drain)
  // The intention first: whoever takes over sees that a drain is under way.
  const mayReport = !wasStarted || (isNews && reports.mayReport(request.metadata.name ?? '', clock.monotonic()))
  if (mayReport) await save(step.status)
  const { pods, nextMs = lookAnywayMs } = pace.due(step.plan, clock.monotonic())
  const results = await askPods(client, pods, signal).catch((error: unknown) => {
    pace.giveBack(pods)
    throw error
  })
  pace.note(results, clock.monotonic(), clock.now())
  for (const { asked, ...answer } of results)
    if (answer.result === 'failed')
      log.warn({ pod: podName(asked.pod), why: answer.why }, 'a pod could not be asked to leave')
  return { lookAgainMs: Math.min(nextMs, isNews && !mayReport ? 1_000 : lookAnywayMs) }
}

function podName(pod: { readonly metadata: { readonly namespace?: string; readonly name?: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`
}
