import { type Command, InvalidArgumentError } from 'commander'
import type { DaemonSetName } from '../drain/index.ts'

/** What a person says of one drain, in place of what the budget says of all of them. */
export interface DrainOptions {
  readonly stopDaemonset?: readonly DaemonSetName[]
}

export function addDrainOptions(command: Command): Command {
  return command.option(
    '--stop-daemonset <namespace/name>',
    "stop the pods of this DaemonSet as well, last of all; repeatable, and in place of the budget's list",
    readDaemonSet,
  )
}

function readDaemonSet(text: string, before: readonly DaemonSetName[] = []): readonly DaemonSetName[] {
  const [namespace, name, ...more] = text.split('/')
  if (!namespace || !name || more.length > 0)
    throw new InvalidArgumentError('Write its namespace and its name, such as kube-system/log-shipper.')
  return [...before, { namespace, name }]
}
