import type { PodObject } from '../../kube/index.ts'
import type { Json, JsonObject } from '../json.ts'
import { conditionOf } from './condition.ts'
import { listAt, numberAt, textAt, timeAt } from './fields.ts'
import { current, failed, type Health, inProgress, type KindRule, type Surroundings } from './verdict.ts'

/** What is wrong with a pod. */
export interface PodProblem {
  readonly pod: string
  readonly reason: string
  readonly container?: string
  readonly message?: string
  readonly exitCode?: number
  readonly restarts?: number
  /** It will not get better by waiting. */
  readonly isFailure: boolean
}

const longestPullMs = 60_000
const mostMessageCharacters = 200
// How every container begins.
const harmless: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])
const pulls: ReadonlySet<string> = new Set(['ImagePullBackOff', 'ErrImagePull'])
const hopeless: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'CreateContainerConfigError', 'InvalidImageName'])

/** Pods come from a cache that speaks of few fields; what is read here is looked for, not relied on. */
export const podJson = (pod: PodObject): JsonObject => pod as unknown as JsonObject

export const podRule: KindRule = (object, around) => {
  const phase = textAt(object, 'status', 'phase')
  if (phase === 'Succeeded') return current('it ran to its end')
  const problem = podProblem(object, around)
  if (problem?.isFailure) return failed(problem.reason, problemText(problem))
  if (conditionOf(object, 'Ready')?.status === 'True') return current('it is ready')
  return problem ? inProgress(problem.reason, problemText(problem)) : notReady(phase)
}

function notReady(phase: string | undefined): Health {
  return inProgress(phase ?? 'Pending', phase === 'Running' ? 'it runs and is not ready' : 'it has not started')
}

/** The most telling problem of a pod, if it has one. */
export function podProblem(pod: JsonObject, around: Omit<Surroundings, 'pods'>): PodProblem | undefined {
  const name = textAt(pod, 'metadata', 'name') ?? ''
  if (textAt(pod, 'status', 'phase') === 'Failed') return failedPhase(pod, name)
  const containers = [...listAt(pod, 'status', 'initContainerStatuses'), ...listAt(pod, 'status', 'containerStatuses')]
  const problems = containers.flatMap((container) => containerProblem(pod, container, around.nowMs) ?? [])
  const worst = problems.find((one) => one.isFailure) ?? problems[0]
  return worst ? { pod: name, ...worst } : unschedulable(pod, name, around)
}

function failedPhase(pod: JsonObject, name: string): PodProblem {
  const ended = listAt(pod, 'status', 'containerStatuses').find(
    (one) => (numberAt(one, 'state', 'terminated', 'exitCode') ?? 0) !== 0,
  )
  return {
    pod: name,
    reason: textAt(pod, 'status', 'reason') ?? textAt(ended, 'state', 'terminated', 'reason') ?? 'Failed',
    ...textPart('container', textAt(ended, 'name')),
    ...textPart('message', short(textAt(pod, 'status', 'message'))),
    ...numberPart('exitCode', numberAt(ended, 'state', 'terminated', 'exitCode')),
    isFailure: true,
  }
}

function containerProblem(pod: JsonObject, container: Json, nowMs: number): Omit<PodProblem, 'pod'> | undefined {
  const waiting = textAt(container, 'state', 'waiting', 'reason')
  const exitCode =
    numberAt(container, 'state', 'terminated', 'exitCode') ?? numberAt(container, 'lastState', 'terminated', 'exitCode')
  const parts = {
    ...textPart('container', textAt(container, 'name')),
    ...numberPart('exitCode', exitCode),
    ...numberPart('restarts', numberAt(container, 'restartCount')),
  }
  if (waiting !== undefined && !harmless.has(waiting)) {
    const sinceMs = notReadySince(pod) ?? nowMs
    return {
      reason: waiting,
      ...parts,
      // A crash is told by its exit code; the message only counts seconds, and would change with each look.
      ...(waiting === 'CrashLoopBackOff'
        ? {}
        : textPart('message', short(textAt(container, 'state', 'waiting', 'message')))),
      isFailure: hopeless.has(waiting) || (pulls.has(waiting) && nowMs - sinceMs > longestPullMs),
    }
  }
  if ((numberAt(container, 'state', 'terminated', 'exitCode') ?? 0) === 0) return undefined
  return { reason: textAt(container, 'state', 'terminated', 'reason') ?? 'Error', ...parts, isFailure: false }
}

/** A container does not say since when it waits; its pod says since when it is not ready. */
function notReadySince(pod: JsonObject): number | undefined {
  return (
    conditionOf(pod, 'Ready')?.sinceMs ??
    timeAt(pod, 'status', 'startTime') ??
    timeAt(pod, 'metadata', 'creationTimestamp')
  )
}

function unschedulable(
  pod: JsonObject,
  name: string,
  { nowMs, unschedulableMs }: Omit<Surroundings, 'pods'>,
): PodProblem | undefined {
  const scheduled = conditionOf(pod, 'PodScheduled')
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined
  const isFailure = nowMs - (scheduled.sinceMs ?? nowMs) > unschedulableMs
  return { pod: name, reason: 'Unschedulable', ...textPart('message', short(scheduled.message)), isFailure }
}

/** `pod web-1, container main: CrashLoopBackOff, exit code 1, 4 restarts`. */
export function problemText({ pod, container, reason, exitCode, restarts = 0, message }: PodProblem): string {
  const facts = [
    reason,
    ...(exitCode === undefined ? [] : [`exit code ${exitCode}`]),
    ...(restarts === 0 ? [] : [`${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`]),
  ].join(', ')
  const where = container === undefined ? `pod ${pod}` : `pod ${pod}, container ${container}`
  return `${where}: ${facts}${message === undefined ? '' : ` (${message})`}`
}

function short(text: string | undefined): string | undefined {
  return text === undefined || text.length <= mostMessageCharacters ? text : `${text.slice(0, mostMessageCharacters)}…`
}

const textPart = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, string>>

const numberPart = <K extends string>(key: K, value: number | undefined): Partial<Record<K, number>> =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, number>>
