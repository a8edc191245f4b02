import type { MaintenanceRequest, MaintenanceRequestStatus, Outcome, Phase, RequestCondition } from '../api/index.ts'

/** What a request's status becomes. Pure; time comes in as text. */

export { withCondition } from './conditions.ts'

const mostHistory = 50

/** The status in another phase, with a line of history; what belonged to the old phase goes. */
export function enterPhase(
  request: MaintenanceRequest,
  phase: Phase,
  note: {
    readonly reason: string
    readonly message: string
    readonly outcome?: Outcome
    readonly by?: string | undefined
  },
  now: string,
): MaintenanceRequestStatus {
  const { waiting: _, held: __, ...kept } = withoutRefusals(request.status ?? { phase })
  return {
    ...kept,
    phase,
    since: now,
    ...(request.metadata.generation === undefined ? {} : { observedGeneration: request.metadata.generation }),
    ...(note.outcome ? { outcome: note.outcome } : {}),
    history: withLine(kept.history ?? [], {
      time: now,
      phase,
      reason: note.reason,
      message: note.message,
      ...(note.by ? { by: note.by } : {}),
    }),
  }
}

type History = NonNullable<MaintenanceRequestStatus['history']>

/** At most fifty lines: the oldest fold into one that counts them. */
export function withLine(history: History, line: History[number]): History {
  const lines = [...history, line]
  if (lines.length <= mostHistory) return lines
  const [first = line, ...rest] = lines
  const dropped = rest.slice(0, rest.length - mostHistory + 1)
  const count = (first.count ?? 1) + dropped.length
  const folded = { time: first.time, phase: first.phase, reason: 'Folded', message: `${count} earlier lines`, count }
  return [folded, ...rest.slice(dropped.length)]
}

/**
 * What a policy, a webhook or a missing right keeps us from writing. NodeRefused holds up what needs the cordon, or its end;
 * NodeStatusRefused is about what a node says of itself, and nobody waits for that.
 */
const refusals = ['NodeRefused', 'NodeStatusRefused'] as const

export function refusalOf(
  status: MaintenanceRequestStatus | undefined,
  type: (typeof refusals)[number],
): RequestCondition | undefined {
  return status?.conditions?.find((one) => one.type === type && one.status === 'True')
}

/** Nothing of it is left once it is over. */
export function withoutRefusals(status: MaintenanceRequestStatus): MaintenanceRequestStatus {
  const others = status.conditions?.filter(({ type }) => refusals.every((one) => one !== type))
  return others && others.length !== status.conditions?.length ? { ...status, conditions: others } : status
}

export function hasCondition(status: MaintenanceRequestStatus | undefined, type: RequestCondition['type']): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
}
