import { budgetName, group, type MaintenanceBudget, version } from '../api/index.ts'
import type { EventNote, NodeObject } from '../kube/index.ts'
import { profileLabel } from './names.ts'
import type { OutboxFailure, OutboxRemark } from './outbox.ts'
import type { Failure, PassEvent, PassResult } from './state/result.ts'

/** How people and `explain` know a change that the API server refused. */
export const unwritten = 'the node could not be written'

const stages: Record<Failure['stage'], string> = {
  state: 'its stored state cannot be used',
  enter: 'entering the state failed',
  check: 'a check failed',
  trigger: 'a trigger failed',
  write: unwritten,
}

/** Reasons and actions are the original's, where it had one for it. */
export function eventOf({ metadata }: NodeObject, event: PassEvent): EventNote {
  const { name = '', uid = '' } = metadata
  const regarding = { apiVersion: 'v1', kind: 'Node', name, uid }
  const action = 'ChangeMaintenanceState'
  const normal = (reason: string, note: string): EventNote => ({ regarding, type: 'Normal', reason, action, note })
  const warning = (reason: string, note: string): EventNote => ({ regarding, type: 'Warning', reason, action, note })
  const { profile } = event
  switch (event.is) {
    case 'Changed':
      return normal('ChangedMaintenanceState', `The node is now ${event.to} by profile ${profile}.`)
    case 'Aborted':
      return normal('AbortedMaintenance', `Profile ${profile} was aborted in ${event.from} and is operational again.`)
    case 'Failed':
      return warning(
        'ChangeMaintenanceStateFailed',
        `Profile ${profile} stays ${event.state}: ${stages[event.failure.stage]}: ${event.failure.cause}`,
      )
    case 'Overdue':
      return warning('MaintenanceOverdue', `Profile ${profile} has been ${event.state} since ${event.since}, too long.`)
    case 'Dropped':
      return warning(
        'ProfileRemovedInMaintenance',
        `Profile ${profile} was taken off the node while it was ${event.state}; what it did to the node is not undone.`,
      )
    case 'Lost':
      return warning('TransitionGivenUp', `Profile ${profile} does not go on to ${event.next}: ${event.why}`)
  }
}

/** Told at the budget: of what every cluster has, it is the one object that is about all nodes. */
export function fileEventOf(budget: MaintenanceBudget | undefined, errors: readonly string[]): EventNote {
  const uid = budget?.metadata.uid
  return {
    regarding: {
      apiVersion: `${group}/${version}`,
      kind: 'MaintenanceBudget',
      name: budgetName,
      ...(uid === undefined ? {} : { uid }),
    },
    type: 'Warning',
    reason: 'ProfilesFileRefused',
    action: 'ReadProfiles',
    note: `The file of profiles is not put in force, and what was in force stays so: ${errors.join('; ')}`,
  }
}

/** What a person has to put right on the node before all of its profiles can go on; nothing if there is nothing. */
export function remarkOf(
  { metadata }: NodeObject,
  { isUnreadable, problem, unknown }: PassResult,
): EventNote | undefined {
  const { name = '', uid = '' } = metadata
  const regarding = { apiVersion: 'v1', kind: 'Node', name, uid }
  const warning = { regarding, type: 'Warning', action: 'ChangeMaintenanceState' } as const
  if (isUnreadable) return { ...warning, reason: 'MaintenanceDataUnreadable', note: `Nothing is done: ${problem}` }
  if (unknown.length === 0) return undefined
  return {
    ...warning,
    reason: 'UnknownProfile',
    note: `Label ${profileLabel} names what the file of profiles does not have: ${unknown.join(', ')}`,
  }
}

export function notSentEventOf({ node, profile, instance, cause, needsPerson }: OutboxFailure): EventNote {
  const again = needsPerson ? ' once the file of profiles is changed, and every hour for a day' : ''
  return notifyWarning(node, `${instance} of profile ${profile} was not sent, and is tried again${again}: ${cause}`)
}

export function sentInPartEventOf({ node, profile, instance, remark }: OutboxRemark): EventNote {
  return notifyWarning(node, `${instance} of profile ${profile} did not reach everybody: ${remark}`)
}

function notifyWarning({ metadata }: NodeObject, note: string): EventNote {
  const { name = '', uid = '' } = metadata
  return {
    regarding: { apiVersion: 'v1', kind: 'Node', name, uid },
    type: 'Warning',
    reason: 'NotificationFailed',
    action: 'Notify',
    note,
  }
}
