import { conditionOf, conditionText } from './condition.ts'
import { numberAt, textAt } from './fields.ts'
import { current, failed, inProgress, type KindRule } from './verdict.ts'

export const definitionRule: KindRule = (object) => {
  const names = conditionOf(object, 'NamesAccepted')
  if (names?.status === 'False')
    return failed(names.reason ?? 'NamesNotAccepted', conditionText('NamesAccepted', names))
  if (conditionOf(object, 'Established')?.status === 'True') return current('its kind is served')
  return inProgress('NotEstablished', 'its kind is not served yet')
}

export const apiServiceRule: KindRule = (object) => {
  const available = conditionOf(object, 'Available')
  if (available?.status === 'True') return current('it is available')
  return inProgress('NotAvailable', available ? conditionText('Available', available) : 'nobody has tried it yet')
}

export const namespaceRule: KindRule = (object) => {
  const phase = textAt(object, 'status', 'phase')
  return phase === 'Active'
    ? current('it is active')
    : inProgress('NotActive', `its phase is ${phase ?? 'not set yet'}`)
}

export const autoscalerRule: KindRule = (object) => {
  const able = conditionOf(object, 'AbleToScale')
  if (able?.status === 'True') return current('it is able to scale')
  return inProgress(
    'NotAbleToScale',
    able ? conditionText('AbleToScale', able) : 'its controller has not looked at it yet',
  )
}

/** That its generation is the observed one, the rule for all kinds has made sure of. */
export const budgetRule: KindRule = (object) =>
  numberAt(object, 'status', 'observedGeneration') === undefined
    ? inProgress('NotObserved', 'its controller has not looked at it yet')
    : current('its controller has counted the pods')
