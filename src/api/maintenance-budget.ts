import * as z from 'zod'
import { blocker, blockerRules } from './blocker.ts'
import type { KindDefinition, Rule } from './kind.ts'
import { deadlineSettings, drainSettings } from './maintenance-request.ts'
import { foreignLock, marks, marksRules } from './marks.ts'
import { notification, notificationRules } from './notification.ts'
import {
  conditionOf,
  duration,
  keyedBy,
  labelSelector,
  numberOrPercent,
  objectName,
  time,
  uid,
  wholeSelector,
} from './values.ts'

const limit = z.object({
  name: z.string().min(1).max(63).describe('shown where something waits for it'),
  groupBy: z
    .string()
    .min(1)
    .max(317)
    .optional()
    .describe('a label: the limit holds for each of its values; nodes without it form one group'),
  nodeSelector: labelSelector.optional().describe('the nodes that the limit is about'),
  max: numberOrPercent.describe('how many of them may be out'),
})

const timing = z.object({
  soak: duration.default('0s').describe('rest after a node came back, before its slot is free'),
  lead: duration.default('0s').describe('announcement before the cordon'),
  heartbeatTimeout: duration.default('60s').describe('silence after which a node at work counts as lost'),
  minReadySeconds: z.int().min(0).max(3600).default(30).describe('how long a node must be Ready to count as back'),
})

const spec = z.object({
  max: numberOrPercent
    .default(1)
    .describe('nodes out at once in the cluster; a percentage rounds down, but is at least 1; 0 stops new claims'),
  limits: z.array(limit).max(32).meta(keyedBy('name', 'further limits; all that match must hold')).optional(),
  controlPlaneMax: z.int().min(1).max(100).default(1).describe('control-plane nodes out at once; always in force'),
  countUnavailable: z
    .array(z.enum(['NotReady', 'Cordoned']))
    .max(2)
    .default(['NotReady', 'Cordoned'])
    .describe('which nodes count as out without a slot; an empty list counts none'),
  ignoreNodes: labelSelector.optional().describe('nodes that never count'),
  profiles: z.enum(['Off', 'Count']).default('Off').describe('whether a profile needs a slot to enter in-maintenance'),
  timing: timing.optional().describe('how long things take at least, or at most'),
  onNodeLost: z
    .enum(['Hold', 'Continue'])
    .default('Hold')
    .describe('what happens to the slot of a node that stays silent'),
  blockers: z.array(blocker).max(32).meta(keyedBy('name', 'conditions that must not hold before a claim')).optional(),
  notify: z.array(notification).max(16).meta(keyedBy('name', 'who is told when nodes leave and return')).optional(),
  marks: marks.optional().describe('taints, labels and annotations on nodes that wait or are out'),
  foreignLocks: z
    .array(foreignLock)
    .max(8)
    .meta({ description: 'locks of other programs over the same nodes, beyond honouring those of kured and Kustodian' })
    .optional(),
  defaults: z
    .object({
      windows: z.array(objectName).max(16).optional().describe('MaintenanceWindows in which nodes may be claimed'),
      drain: drainSettings.optional().describe('how nodes are drained'),
      deadlines: deadlineSettings.optional().describe('how long things may take'),
    })
    .optional()
    .describe('what requests use that say nothing themselves'),
})

const slot = z.object({
  node: z.string().describe('name of the node that is out'),
  nodeUID: uid.describe('its UID'),
  token: z.int().min(1).describe('fencing number; never given twice'),
  takenAt: time.describe('when it was claimed'),
  requests: z.array(z.string()).max(64).describe('open requests that share the slot'),
  groups: z.record(z.string(), z.string()).optional().describe("the node's group in each limit that has groups"),
  soakUntil: time.optional().describe('the node is back, and the slot counts until then'),
})

const admission = z.object({
  node: z.string().describe('name of the node'),
  nodeUID: uid.describe('its UID'),
  nodeVersion: z.string().max(32).optional().describe('the resource version in which the node was let in'),
  profile: z.string().describe('the profile that let it in'),
  at: time.describe('when'),
})

const limitFigures = z.object({
  name: z.string().describe('name of the limit, or cluster for the whole'),
  max: z.int().min(0).describe('nodes that may be out'),
  out: z.int().min(0).describe('nodes that are out'),
  withoutSlot: z.array(z.string()).max(10).describe('nodes that are out for other reasons, at most ten'),
})

const status = z.object({
  nextToken: z.int().min(1).describe('fencing number of the next slot'),
  slots: z.array(slot).max(500).meta(keyedBy('nodeUID', 'nodes that are out: a slot exists if and only if it is here')),
  admissions: z
    .array(admission)
    .max(500)
    .optional()
    .describe('nodes that a profile let into maintenance and that do not carry its label yet'),
  limits: z.array(limitFigures).max(64).optional().describe('the limits in figures'),
  conditions: z
    .array(conditionOf(['LedgerReady', 'ExclusivityBroken', 'Frozen']))
    .max(8)
    .meta(keyedBy('type', 'whether claims are made, and why not'))
    .optional(),
})

/** One that matches every node switches the budget off. It is also what is left of labels that stand outside matchLabels. */
const namesNodes: Rule = {
  rule: '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)',
  message: 'ignoreNodes needs a label in matchLabels or matchExpressions: without one no node would count',
}

export const budgetName = 'cluster'

export const maintenanceBudget: KindDefinition = {
  kind: 'MaintenanceBudget',
  plural: 'maintenancebudgets',
  shortNames: ['mbudget'],
  description: 'Says how many nodes may be out of service at once; its status is the ledger of those that are.',
  spec,
  status,
  example: { name: budgetName, spec: { max: '10%', controlPlaneMax: 1, countUnavailable: ['NotReady', 'Cordoned'] } },
  selectableFields: [],
  printerColumns: [
    { name: 'Max', type: 'string', jsonPath: '.spec.max', description: 'nodes out at once' },
    // Not the names from status.slots: of several values the API server prints the first alone.
    {
      name: 'Out',
      type: 'integer',
      jsonPath: `.status.limits[?(@.name=="${budgetName}")].out`,
      description: 'nodes that are out',
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'since it exists' },
  ],
  rules: {
    '': [
      {
        rule: `self.metadata.name == '${budgetName}'`,
        message: `there is one MaintenanceBudget, and its name is ${budgetName}`,
      },
    ],
    'spec.ignoreNodes': [namesNodes, wholeSelector],
    'spec.limits.[].nodeSelector': [wholeSelector],
    ...blockerRules('spec.blockers'),
    ...notificationRules('spec.notify'),
    ...marksRules('spec.marks'),
  },
}

export type MaintenanceBudgetSpec = z.output<typeof spec>
export type MaintenanceBudgetStatus = z.output<typeof status>
export type Slot = z.output<typeof slot>
export type NumberOrPercent = z.output<typeof numberOrPercent>
