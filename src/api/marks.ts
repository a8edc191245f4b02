import * as z from 'zod'
import type { KindDefinition } from './kind.ts'
import { objectName } from './values.ts'

/** What other programs look for on nodes, and locks that they share with us. */

const label = z.record(z.string(), z.string().max(63)).meta({ maxProperties: 32 })

export const compatiblePrograms = ['Kured', 'Kustodian'] as const
export type CompatibleProgram = (typeof compatiblePrograms)[number]

export const marks = z.object({
  taintWhileQueued: z
    .string()
    .min(1)
    .max(317)
    .optional()
    .describe('key of a PreferNoSchedule taint on nodes that wait for their turn, so that fewer new pods go there'),
  labelsWhileOut: label.optional().describe('labels that a node gets when it leaves service'),
  labelsAfter: label.optional().describe('labels that a node gets when it is back'),
  annotationsOf: z
    .array(z.enum(compatiblePrograms))
    .max(2)
    .optional()
    .describe('programs whose annotations are written as they would write them'),
})

export const foreignLock = z.object({
  program: z.enum(compatiblePrograms).describe('whose lock it is'),
  namespace: objectName.default('kube-system').describe('namespace of the DaemonSet that carries it'),
  name: objectName.optional().describe("name of the DaemonSet; without it, the program's own"),
  annotation: z.string().min(1).max(317).optional().describe("key of the lock; without it, the program's own"),
  hold: z
    .boolean()
    .default(false)
    .describe('whether we take it too while a node of ours is out; then one node at a time'),
  takeOver: z
    .boolean()
    .default(false)
    .describe('whether the maintenance of a node that holds it becomes a request of ours'),
})

const labelKey = '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'
const labelValue = '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'

/** What Kubernetes would refuse on a node would keep it from being cordoned, or from being given back. */
export function marksRules(path: string): KindDefinition['rules'] {
  const labels = {
    rule: `self.all(key, key.matches('${labelKey}') && self[key].matches('${labelValue}'))`,
    message: 'these are not labels that a node can have',
  }
  return {
    [`${path}.taintWhileQueued`]: [
      { rule: `self.matches('${labelKey}')`, message: 'this is not a key that a taint can have' },
    ],
    [`${path}.labelsWhileOut`]: [labels],
    [`${path}.labelsAfter`]: [labels],
  }
}

export type Marks = z.output<typeof marks>
export type ForeignLock = z.output<typeof foreignLock>
