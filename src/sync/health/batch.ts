import { conditionOf } from './condition.ts'
import { at, listAt, numberAt, timeAt } from './fields.ts'
import { problemText } from './pod.ts'
import { podsOf, worstProblem } from './pods-of.ts'
import { current, failed, inProgress, type KindRule } from './verdict.ts'

/** A Job that runs is not done: whoever waits for a migration waits for its end. */
export const jobRule: KindRule = (object, around) => {
  const failure = conditionOf(object, 'Failed')
  const problem = worstProblem(podsOf(object, around.pods), around)
  const because = problem ? `; ${problemText(problem)}` : ''
  if (failure?.status === 'True') {
    return failed(failure.reason ?? 'JobFailed', `it failed: ${failure.message ?? 'no reason is given'}${because}`)
  }
  if (conditionOf(object, 'Complete')?.status === 'True') return current('it is complete')
  if (at(object, 'spec', 'suspend') === true) return current('it is suspended')
  const [active, succeeded] = [numberAt(object, 'status', 'active') ?? 0, numberAt(object, 'status', 'succeeded') ?? 0]
  const wanted = numberAt(object, 'spec', 'completions') ?? 1
  return inProgress('Running', `${succeeded}/${wanted} complete, ${active} active${because}`)
}

/** A failed run is worth a word but no failure: the next one comes by itself. */
export const cronJobRule: KindRule = (object) => {
  if (at(object, 'spec', 'suspend') === true) return current('it is suspended')
  const [begun, succeeded] = [
    timeAt(object, 'status', 'lastScheduleTime'),
    timeAt(object, 'status', 'lastSuccessfulTime'),
  ]
  if (begun === undefined) return current('it has not run yet')
  const isRunning = listAt(object, 'status', 'active').length > 0
  if (isRunning) return current('it runs now')
  return current((succeeded ?? 0) >= begun ? 'its last run succeeded' : 'its last run did not succeed')
}
