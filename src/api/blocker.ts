import * as z from 'zod'
import type { KindDefinition, Rule } from './kind.ts'
import { duration, labelSelector, wholeSelector } from './values.ts'

/** Of the Secrets in its namespace, the controller reads this one alone: a budget cannot make it send any other. */
export const blockerSecretName = 'fettle-blockers'

// No user name and password, which would be shown wherever the budget is; and nothing that a path is put behind.
const url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/)
  .meta({ title: 'address, such as http://prometheus.monitoring:9090' })

const asked = {
  deadline: duration.default('5s').describe('how long the answer may take, 1s to 30s; later is no answer'),
  tokenSecretKey: z
    .string()
    .regex(/^[-._a-zA-Z0-9]{1,253}$/)
    .optional()
    .describe(`key in the Secret ${blockerSecretName} of Fettle's namespace; its value is sent as a bearer token`),
  caBundle: z
    .string()
    .max(65_536)
    .optional()
    .describe('certificates in PEM that an https address is checked against, in place of the well-known ones'),
}

const pods = z.object({
  selector: labelSelector.describe('labels of the pods; an empty selector means every pod'),
  namespaces: z
    .array(z.string().min(1).max(63))
    .min(1)
    .max(64)
    .optional()
    .describe('only pods in these namespaces; without it, in all'),
  onThisNode: z.boolean().default(true).describe('only pods on the node that would leave; false means anywhere'),
})

const alertNames = z.string().min(1).max(1024)

const alerts = z.object({
  url: url.describe('where Prometheus answers; /api/v1/query is put behind it'),
  ignore: alertNames
    .optional()
    .describe('names of alerts that do not block, as an expression that fits the whole name'),
  only: alertNames.optional().describe('names of the alerts that block, as an expression that fits the whole name'),
  firingOnly: z.boolean().default(false).describe('whether alerts that are pending do not block'),
  labels: z
    .record(z.string(), z.string().max(256))
    .meta({ maxProperties: 16 })
    .optional()
    .describe('labels that an alert must have to block, with these values'),
  ...asked,
})

const nodeCondition = z.object({
  type: z.string().min(1).max(316).describe('type of the condition'),
  status: z.enum(['True', 'False']).default('True').describe('what it must not be; Unknown blocks in any case'),
  anyNode: z.boolean().default(false).describe('whether it blocks on any node; false means the node that would leave'),
})

const hook = z.object({
  url: url.describe('is sent a POST that names node and request, and must answer {"allow": true} or {"allow": false}'),
  ...asked,
})

export const blocker = z.object({
  name: z.string().min(1).max(63).describe('shown where something waits for it'),
  pods: pods.optional().describe('blocks while such a pod has not ended'),
  alerts: alerts.optional().describe('blocks while Prometheus has such an alert, or does not answer'),
  nodeCondition: nodeCondition.optional().describe('blocks while a node has this condition'),
  hook: hook.optional().describe('blocks unless it answers that the node may leave'),
})

const bounded: Rule = {
  rule: "duration(self) >= duration('1s') && duration(self) <= duration('30s')",
  message: 'is 1s to 30s',
}

/** For a list of blockers, by the path that it has. */
export function blockerRules(list: string): KindDefinition['rules'] {
  const each = `${list}.[]`
  return {
    [each]: [
      {
        rule: '[has(self.pods), has(self.alerts), has(self.nodeCondition), has(self.hook)].filter(isThere, isThere).size() == 1',
        message: 'a blocker has exactly one of pods, alerts, nodeCondition and hook',
      },
    ],
    [`${each}.pods.selector`]: [wholeSelector],
    [`${each}.alerts`]: [
      {
        rule: '!has(self.ignore) || !has(self.only)',
        message: 'say which alerts to ignore, or which alone to look at; not both',
      },
      {
        rule: "!has(self.labels) || self.labels.all(name, name.matches('^[a-zA-Z_][a-zA-Z0-9_]*$'))",
        message: 'labels of an alert consist of letters, digits and _, and do not begin with a digit',
        fieldPath: '.labels',
      },
    ],
    [`${each}.alerts.deadline`]: [bounded],
    [`${each}.hook.deadline`]: [bounded],
  }
}

export type Blocker = z.output<typeof blocker>
export type PodsBlocker = NonNullable<Blocker['pods']>
export type AlertsBlocker = NonNullable<Blocker['alerts']>
export type NodeConditionBlocker = NonNullable<Blocker['nodeCondition']>
export type HookBlocker = NonNullable<Blocker['hook']>
