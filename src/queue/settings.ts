import type { MaintenanceBudgetSpec, MaintenanceRequest, Marks } from '../api/index.ts'
import type { DaemonSetName } from '../drain/index.ts'
import { durationMs } from '../time/index.ts'

/** What holds for a request: its own word, else the budget's, else ours. */
export interface RequestSettings {
  readonly windows: readonly string[]
  readonly drain: {
    readonly deadlineMs: number
    readonly onDeadline: 'Hold' | 'Requeue' | 'ForceDelete' | 'Continue'
    readonly gracePeriodMaxMs?: number
    readonly backend: 'Auto' | 'Eviction' | 'EvictionRequest' | 'Delete'
    readonly unmanaged: 'Refuse' | 'Evict'
    readonly waitForVolumes: boolean
    readonly stopDaemonSets: readonly DaemonSetName[]
  }
  readonly workMs: number
  readonly returnMs: number
  readonly maxReboots: number
  readonly soakMs: number
  readonly leadMs: number
  readonly heartbeatMs: number
  readonly minReadyMs: number
  readonly onNodeLost: 'Hold' | 'Continue'
  readonly marks: Marks
}

type DrainText = NonNullable<MaintenanceRequest['spec']['drain']>
type DeadlinesText = NonNullable<MaintenanceRequest['spec']['deadlines']>
type Complete<T> = { readonly [Field in keyof T]-?: NonNullable<T[Field]> }

const ours: {
  readonly drain: Complete<Omit<DrainText, 'gracePeriodMax'>>
  readonly deadlines: Complete<DeadlinesText>
  readonly timing: NonNullable<MaintenanceBudgetSpec['timing']>
} = {
  drain: {
    deadline: '30m',
    onDeadline: 'Hold',
    backend: 'Auto',
    unmanaged: 'Refuse',
    waitForVolumes: false,
    stopDaemonSets: [],
  },
  deadlines: { work: '2h', return: '15m', maxReboots: 5 },
  timing: { soak: '0s', lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 30 },
}

export function settingsOf(
  { spec }: Pick<MaintenanceRequest, 'spec'>,
  budget: Pick<MaintenanceBudgetSpec, 'defaults' | 'timing' | 'onNodeLost' | 'marks'>,
): RequestSettings {
  const drain = layers(ours.drain, budget.defaults?.drain, spec.drain)
  const deadlines = layers(ours.deadlines, budget.defaults?.deadlines, spec.deadlines)
  const timing = layers(ours.timing, budget.timing)
  return {
    windows: windowsOf({ spec }, budget),
    drain: {
      deadlineMs: durationMs(drain.deadline),
      onDeadline: drain.onDeadline,
      ...(drain.gracePeriodMax === undefined ? {} : { gracePeriodMaxMs: durationMs(drain.gracePeriodMax) }),
      backend: drain.backend,
      unmanaged: drain.unmanaged,
      waitForVolumes: drain.waitForVolumes,
      stopDaemonSets: drain.stopDaemonSets,
    },
    workMs: durationMs(deadlines.work),
    returnMs: durationMs(deadlines.return),
    maxReboots: deadlines.maxReboots,
    soakMs: durationMs(timing.soak),
    leadMs: durationMs(timing.lead),
    heartbeatMs: durationMs(timing.heartbeatTimeout),
    minReadyMs: timing.minReadySeconds * 1_000,
    onNodeLost: budget.onNodeLost,
    marks: budget.marks ?? {},
  }
}

/** The windows in which a request may be claimed; none is always. */
export function windowsOf(
  { spec }: Pick<MaintenanceRequest, 'spec'>,
  { defaults }: Pick<MaintenanceBudgetSpec, 'defaults'>,
): readonly string[] {
  return (spec.windows?.length ? spec.windows : defaults?.windows) ?? []
}

/** Each layer says more than the one before it, but for what it leaves out. */
function layers<Base extends object>(
  base: Base,
  ...others: readonly (object | undefined)[]
): Base & { readonly gracePeriodMax?: string } {
  const said = others.flatMap((other) => Object.entries(other ?? {}).filter(([, value]) => value !== undefined))
  return { ...base, ...Object.fromEntries(said) } as Base
}
