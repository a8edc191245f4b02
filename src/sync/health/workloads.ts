import type { JsonObject } from '../json.ts'
import { conditionOf, conditionText } from './condition.ts'
import { at, numberAt, textAt } from './fields.ts'
import { problemText } from './pod.ts'
import { podsOf, worstProblem } from './pods-of.ts'
import { replicasOf, replicasText } from './replicas.ts'
import { current, failed, type Health, inProgress, type KindRule, type Surroundings } from './verdict.ts'

// Quota is often freed by the very rollout that met it.
const longestReplicaFailureMs = 30_000
const unobserved = inProgress('NotObserved', 'its controller has not looked at it yet')

export const deploymentRule: KindRule = (object, around) => {
  const progressing = conditionOf(object, 'Progressing')
  if (progressing?.reason === 'ProgressDeadlineExceeded' && progressing.status === 'False') {
    return failed(
      'ProgressDeadlineExceeded',
      withProblem(object, around, `${counts(object)}; its progress deadline passed`),
    )
  }
  const failure = conditionOf(object, 'ReplicaFailure')
  if (
    failure?.status === 'True' &&
    /quota|forbidden/i.test(`${failure.reason} ${failure.message}`) &&
    around.nowMs - (failure.sinceMs ?? around.nowMs) > longestReplicaFailureMs
  ) {
    return failed('ReplicaFailure', conditionText('ReplicaFailure', failure))
  }
  if (!isObserved(object)) return unobserved
  const { wanted, present, updated, ready, available } = numbers(object)
  const isThere = [present, updated, ready, available].every((count) => count === wanted)
  if (isThere && conditionOf(object, 'Available')?.status === 'True') return current(counts(object))
  if (failure?.status === 'True') return inProgress('ReplicaFailure', conditionText('ReplicaFailure', failure))
  return underway(object, around)
}

export const statefulSetRule: KindRule = (object, around) => {
  if (!isObserved(object)) return unobserved
  const { wanted, present, updated, ready } = numbers(object)
  const isOnDelete = textAt(object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  const revision = textAt(object, 'status', 'updateRevision')
  const isOneRevision = revision === textAt(object, 'status', 'currentRevision')
  // Ordinals below the partition keep the old revision on purpose; then the two never become one.
  const partition = numberAt(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0
  const isPartitionReached = partition > 0 && updated >= Math.max(0, wanted - partition)
  if (ready === wanted && present === wanted) {
    if (isOneRevision) return current(counts(object))
    if (isOnDelete)
      return current(`${counts(object)}; pods take the new revision when somebody deletes them (OnDelete)`)
    if (isPartitionReached) return current(`${counts(object)}; the partition of ${partition} is reached`)
  }
  // A broken pod of the old revision may be what the new one mends.
  const newPods = podsOf(object, around.pods).filter(
    (pod) => revision === undefined || pod.metadata.labels?.['controller-revision-hash'] === revision,
  )
  const problem = worstProblem(newPods, around)
  if (problem?.isFailure) return failed(problem.reason, `${counts(object)}; ${problemText(problem)}`)
  return underway(object, around)
}

export const daemonSetRule: KindRule = (object, around) => {
  if (!isObserved(object)) return unobserved
  const { wanted, present, updated, ready, available } = numbers(object)
  const isReady = [present, ready, available].every((count) => count === wanted)
  if (isReady && updated === wanted) return current(counts(object))
  if (isReady && textAt(object, 'spec', 'updateStrategy', 'type') === 'OnDelete') {
    return current(`${counts(object)}; pods take the new version when somebody deletes them (OnDelete)`)
  }
  return underway(object, around)
}

export const replicaSetRule: KindRule = (object, around) => {
  const failure = conditionOf(object, 'ReplicaFailure')
  if (failure?.status === 'True') return failed('ReplicaFailure', conditionText('ReplicaFailure', failure))
  if (!isObserved(object)) return unobserved
  const { wanted, present, updated, ready, available } = numbers(object)
  const isThere = [present, updated, ready, available].every((count) => count === wanted)
  return isThere ? current(counts(object)) : underway(object, around)
}

function underway(object: JsonObject, around: Surroundings): Health {
  if (at(object, 'spec', 'paused') === true) return inProgress('Paused', `${counts(object)}; it is paused`)
  const problem = worstProblem(podsOf(object, around.pods), around)
  return inProgress(problem?.reason ?? 'Progressing', withProblem(object, around, counts(object)))
}

function withProblem(object: JsonObject, around: Surroundings, text: string): string {
  const problem = worstProblem(podsOf(object, around.pods), around)
  return problem ? `${text}; ${problemText(problem)}` : text
}

const isObserved = (object: JsonObject): boolean => numberAt(object, 'status', 'observedGeneration') !== undefined
const none = { wanted: 0, present: 0, updated: 0, ready: 0, available: 0 }
const numbers = (object: JsonObject) => replicasOf(object) ?? none
const counts = (object: JsonObject): string => replicasText(numbers(object))
