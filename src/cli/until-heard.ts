import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { type ConnectedClient, waitFor } from '../kube/index.ts'
import { type Clock, systemClock } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { progressOn } from './progress.ts'

/** Longer than any change of leaders takes. */
const hearingMs = 120_000

/** Waits until the controller has acted on what a person just wrote on a request; until then its status is of before. */
export async function untilHeard(
  client: ConnectedClient,
  { metadata: { name = '' }, spec }: MaintenanceRequest,
  isUnheard: (seen: MaintenanceRequest) => boolean,
  context: CliContext,
  clock: Clock = systemClock,
): Promise<void> {
  const progress = progressOn(context.progress, context.nowMs)
  const result = await waitFor<MaintenanceRequest>(
    client,
    maintenanceRequests,
    { name },
    (seen) => {
      if (!seen || !isUnheard(seen)) return true
      const text = `${spec.nodeName}: waiting for the controller`
      progress.update(text)
      return text
    },
    { signal: context.signal, deadlineMs: hearingMs, clock, random: Math.random },
  )
  progress.clear()
  if (result.outcome === 'deadline')
    throw new CliFault(
      [
        `the controller has not answered for ${hearingMs / 60_000} minutes;`,
        `what ${name} was told stays, and is done once it runs: \`fettle explain ${name}\` tells what is to come,`,
        'and `kubectl get pods -n fettle-system` whether a controller runs',
      ].join(' '),
    )
}
