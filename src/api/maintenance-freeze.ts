import * as z from 'zod'
import { type KindDefinition, notYet } from './kind.ts'
import { conditionOf, keyedBy, time } from './values.ts'

const spec = z.object({
  selector: z
    .looseObject({})
    .optional()
    .describe('the NodeMaintenances that it is about; a freeze with a selector does not touch the queue'),
  from: time.optional().describe('when it begins; without it, at once'),
  until: time.optional().describe('when it ends; without it, when somebody deletes it'),
  reason: z.string().min(1).max(256).describe('why; shown everywhere'),
  by: z.string().min(1).max(256).optional().describe('who wants it'),
  allowRealtime: z.boolean().optional().describe('whether drift is still corrected'),
})

const status = z.object({
  observedGeneration: z.int().min(0).optional().describe('generation of the spec that the rest is about'),
  active: z.boolean().describe('whether it is in force'),
  conditions: z
    .array(conditionOf(['Active']))
    .max(8)
    .meta(keyedBy('type', 'whether it is in force, and why not'))
    .optional(),
})

export const maintenanceFreeze: KindDefinition = {
  kind: 'MaintenanceFreeze',
  plural: 'maintenancefreezes',
  shortNames: ['mfreeze'],
  description:
    'Stops new claims: no further node is taken out of service while it is in force. Work under way ends as usual.',
  spec,
  status,
  example: {
    name: 'holiday-sale',
    spec: { reason: 'holiday sale', by: 'jdoe-at-example', until: '2026-12-27T08:00:00Z' },
  },
  selectableFields: [],
  printerColumns: [
    { name: 'Active', type: 'boolean', jsonPath: '.status.active', description: 'whether it is in force' },
    { name: 'Until', type: 'string', jsonPath: '.spec.until', description: 'when it ends' },
    { name: 'By', type: 'string', jsonPath: '.spec.by', description: 'who wants it' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.reason', description: 'why' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'since it exists' },
  ],
  rules: {
    spec: [
      {
        rule: '!has(self.from) || !has(self.until) || self.from < self.until',
        message: 'until must be after from',
        fieldPath: '.until',
      },
      notYet('selector'),
      notYet('allowRealtime'),
    ],
  },
}

export type MaintenanceFreezeSpec = z.output<typeof spec>
export type MaintenanceFreezeStatus = z.output<typeof status>
