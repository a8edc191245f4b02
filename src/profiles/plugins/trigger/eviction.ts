import { cordonDraft, uncordonDraft } from '../../cordon-draft.ts'
import { optional, required } from '../../fields.ts'
import type { Plugin, Trigger, TriggerContext, TriggerOutcome } from '../../plugin.ts'
import { drain } from './drain.ts'

const fields = {
  action: required('text', 'cordon, uncordon or drain'),
  evictionTimeout: optional('duration', 'how long a drain only asks; then forceEviction counts', 600_000),
  deletionTimeout: optional(
    'duration',
    'how long after that pods may take to leave before it is told; the drain goes on',
    600_000,
  ),
  forceEviction: optional(
    'flag',
    'whether a drain deletes what did not leave within evictionTimeout, whatever budgets say, and removes pods that ' +
      'should have stopped long ago',
  ),
  barePods: optional('text', 'pods that nothing starts again elsewhere: evict them, or refuse to', 'evict'),
} as const

type Action = (context: TriggerContext) => TriggerOutcome | Promise<TriggerOutcome>

const actions = ['cordon', 'uncordon', 'drain']

export const eviction: Plugin<Trigger, typeof fields> = {
  type: 'eviction',
  about: 'Keeps new pods off the node, lets them come again, or makes the ones that are there leave.',
  fields,
  problems: ({ action, barePods }) => [
    ...(actions.includes(action)
      ? []
      : [{ field: 'action', message: `there is no '${action}'; write cordon, uncordon or drain` }]),
    ...(['evict', 'refuse'].includes(barePods)
      ? []
      : [{ field: 'barePods', message: `there is no '${barePods}'; write evict or refuse` }]),
  ],
  create(config) {
    const run: Readonly<Record<string, Action>> = {
      cordon({ node, cordonOwner, nowMs }) {
        cordonDraft(node, cordonOwner, nowMs)
        return 'done'
      },
      uncordon({ node, cordonOwner }) {
        uncordonDraft(node, cordonOwner)
        return 'done'
      },
      drain: (context) => drain(context, config),
    }
    const chosen = run[config.action]
    if (!chosen) throw new Error(`action is '${config.action}'; write cordon, uncordon or drain`)
    return { isOutside: config.action === 'drain', run: chosen }
  },
}
