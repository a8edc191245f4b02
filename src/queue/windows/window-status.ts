import type {
  MaintenanceFreeze,
  MaintenanceFreezeStatus,
  MaintenanceWindow,
  MaintenanceWindowStatus,
} from '../../api/index.ts'
import type { ReadWindow } from '../../time/index.ts'
import { isActive, nextChange } from './decide-freezes.ts'
import { problemText, timetableOf } from './decide-window.ts'

export interface StatusDecision<Status> {
  readonly status: Status
  /** When time alone changes it. */
  readonly wakeAtMs?: number
}

type Condition = NonNullable<MaintenanceWindowStatus['conditions']>[number]
const nextShown = 5

export function windowStatusOf(
  object: MaintenanceWindow,
  read: ReadWindow,
  nowMs: number,
): StatusDecision<MaintenanceWindowStatus> {
  const { current, next } = timetableOf(read, nowMs, nextShown)
  const wakeAtMs = current ? current.endMs : next[0]?.startMs
  const known = object.status?.conditions ?? []
  const status: MaintenanceWindowStatus = {
    ...observed(object),
    open: current !== undefined,
    ...(current?.startMs === undefined ? {} : { currentStart: iso(current.startMs) }),
    ...(current?.endMs === undefined ? {} : { currentEnd: iso(current.endMs) }),
    ...(next.length > 0
      ? {
          next: next.map(({ startMs, endMs }) => ({
            start: iso(startMs),
            ...(endMs === undefined ? {} : { end: iso(endMs) }),
          })),
        }
      : {}),
    conditions: windowConditions(object, read, current !== undefined || next.length > 0).map((condition) => ({
      ...condition,
      lastTransitionTime: sinceWhen(known, condition, nowMs),
    })),
  }
  return { status, ...(wakeAtMs === undefined ? {} : { wakeAtMs }) }
}

function windowConditions(
  object: MaintenanceWindow,
  { window, problems }: ReadWindow,
  opensEver: boolean,
): Omit<Condition, 'lastTransitionTime'>[] {
  const ofCalendars = problems.filter(({ isCalendar }) => isCalendar)
  const ofSpec = problems.filter(({ isCalendar }) => !isCalendar)
  return [
    ofSpec.length === 0
      ? { type: 'Valid', status: 'True', reason: 'Readable', message: 'the schedule can be read' }
      : { type: 'Valid', status: 'False', reason: 'Unreadable', message: problemText(object, ofSpec) },
    neverOpens(window !== undefined, opensEver),
    ofCalendars.length === 0
      ? { type: 'ExclusionSourceReady', status: 'True', reason: 'Readable', message: 'every calendar can be read' }
      : {
          type: 'ExclusionSourceReady',
          status: 'False',
          reason: 'Unreadable',
          message: `closed until this is mended: ${problemText(object, ofCalendars)}`,
        },
  ]
}

function neverOpens(isReadable: boolean, opensEver: boolean): Omit<Condition, 'lastTransitionTime'> {
  const type = 'NeverOpens'
  if (!isReadable) return { type, status: 'Unknown', reason: 'Unreadable', message: 'the window cannot be read' }
  return opensEver
    ? { type, status: 'False', reason: 'Opens', message: 'it opens within the next five years' }
    : {
        type,
        status: 'True',
        reason: 'NoTime',
        message: 'it does not open within the next five years; look at its dates',
      }
}

export function freezeStatusOf(object: MaintenanceFreeze, nowMs: number): StatusDecision<MaintenanceFreezeStatus> {
  const active = isActive(object, nowMs)
  const wakeAtMs = nextChange(object, nowMs)
  const isOver = !active && Date.parse(object.spec.until ?? '') <= nowMs
  const condition = active
    ? ({ type: 'Active', status: 'True', reason: 'InForce', message: 'no node is claimed' } as const)
    : ({
        type: 'Active',
        status: 'False',
        reason: isOver ? 'Over' : 'NotYet',
        message: isOver ? 'it is over and can be deleted' : `it begins at ${object.spec.from}`,
      } as const)
  const lastTransitionTime = sinceWhen(object.status?.conditions ?? [], condition, nowMs)
  return {
    status: { ...observed(object), active, conditions: [{ ...condition, lastTransitionTime }] },
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  }
}

function observed({ metadata }: MaintenanceWindow | MaintenanceFreeze): { readonly observedGeneration?: number } {
  return metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
}

function sinceWhen(
  known: readonly { readonly type: string; readonly status: string; readonly lastTransitionTime: string }[],
  { type, status }: { readonly type: string; readonly status: string },
  nowMs: number,
): string {
  const before = known.find((condition) => condition.type === type)
  return before?.status === status ? before.lastTransitionTime : iso(nowMs)
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
