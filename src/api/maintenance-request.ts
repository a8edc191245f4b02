import * as z from 'zod'
import { rebootAnnotationKey } from './annotations.ts'
import { immutable, immutableOptional, type KindDefinition } from './kind.ts'
import { requestStatus } from './request-status.ts'
import { duration, objectName, uid } from './values.ts'

export const drainSettings = z.object({
  deadline: duration.optional().describe('how long the drain may take, such as 30m'),
  onDeadline: z
    .enum(['Hold', 'Requeue', 'ForceDelete', 'Continue'])
    .optional()
    .describe('what happens when it takes longer'),
  gracePeriodMax: duration.optional().describe('the longest grace period that a pod gets'),
  backend: z.enum(['Auto', 'Eviction', 'EvictionRequest', 'Delete']).optional().describe('how pods are asked to leave'),
  unmanaged: z
    .enum(['Refuse', 'Evict'])
    .optional()
    .describe('what becomes of pods without a controller, which nothing would start again'),
  waitForVolumes: z.boolean().optional().describe('whether the work waits until the volumes of the node are detached'),
  stopDaemonSets: z
    .array(
      z.object({
        namespace: objectName.describe('namespace of the DaemonSet'),
        name: objectName.describe('name of the DaemonSet'),
      }),
    )
    .max(50)
    .optional()
    .describe(
      'DaemonSets whose pods leave as well, last of all, and come back with the node; an empty list means none',
    ),
})

export const deadlineSettings = z.object({
  work: duration.optional().describe('how long the work may take once it may begin'),
  return: duration.optional().describe('how long from the order to reboot until the node is proven back'),
  maxReboots: z.int().min(1).max(100).optional().describe('how many reboots one request may take'),
})

const spec = z.object({
  nodeName: objectName.describe('the node that should leave service'),
  nodeUID: uid.describe('its UID: a new node of the same name is another node'),
  source: z
    .object({
      kind: z.enum(['File', 'Reboot', 'Person', 'Maintenance', 'Profile', 'Imported']).describe('who asks'),
      key: z.string().min(1).max(1024).describe('path, detector, object or profile name, or the person'),
    })
    .describe('where the request comes from; one open request per node and source'),
  requestedBy: z.string().min(1).max(256).optional().describe('user name of the person who asks'),
  reason: z.string().min(1).max(256).describe('why; shown everywhere'),
  want: z.enum(['Out', 'Return']).default('Out').describe('Return says: done, give the node back'),
  priority: z.int().min(-1000).max(1000).default(0).describe('higher goes first'),
  work: z
    .enum(['Host', 'Reboot', 'External'])
    .describe('who works: a script on the host, the agent by rebooting, or somebody else who then wants Return'),
  service: z
    .object({
      cordon: z.boolean().default(true).describe('keep new pods away'),
      drain: z.boolean().default(true).describe('move pods away before permission is given'),
    })
    .default({ cordon: true, drain: true })
    .describe('what is done to the node before the work'),
  windows: z
    .array(objectName)
    .max(16)
    .optional()
    .describe("MaintenanceWindows in which the node may be claimed; without any, the budget's"),
  bypassWindow: z.string().max(256).optional().describe('a reason to ignore windows'),
  drain: drainSettings.optional().describe("overrides the budget's settings"),
  deadlines: deadlineSettings.optional().describe("overrides the budget's settings"),
})

export const maintenanceRequest: KindDefinition = {
  kind: 'MaintenanceRequest',
  plural: 'maintenancerequests',
  shortNames: ['mreq'],
  description:
    'Says that a node should leave service, and why; shows its place in the queue, its permission and its history.',
  spec,
  status: requestStatus,
  example: {
    name: 'node-7-person-x4k2p',
    spec: {
      nodeName: 'node-7',
      nodeUID: '5f0c2f4e-5d0a-4b61-9d0c-0d6a2b1c7e11',
      source: { kind: 'Person', key: 'jdoe-at-example' },
      reason: 'replace the fan',
      work: 'External',
    },
  },
  selectableFields: ['.spec.nodeName'],
  printerColumns: [
    { name: 'Node', type: 'string', jsonPath: '.spec.nodeName', description: 'the node' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'where the request is' },
    { name: 'Waiting', type: 'string', jsonPath: '.status.waiting.message', description: 'why it is not its turn' },
    { name: 'Pods left', type: 'integer', jsonPath: '.status.drain.left', description: 'pods that have not left yet' },
    { name: 'Outcome', type: 'string', jsonPath: '.status.outcome', description: 'how it ended' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.reason', description: 'why it should leave', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'since it was asked for' },
  ],
  rules: {
    'spec.nodeName': [immutable],
    'spec.nodeUID': [immutable],
    'spec.source': [immutable],
    'spec.reason': [immutable],
    'spec.work': [immutable],
    'spec.service': [immutable],
    'spec.want': [
      {
        rule: "self == oldSelf || self == 'Return'",
        message: 'can only change from Out to Return; to go out again make a new request',
      },
    ],
    spec: [
      ...['requestedBy', 'windows', 'bypassWindow', 'drain', 'deadlines'].map(immutableOptional),
      {
        rule: 'self.service.cordon && self.service.drain || !has(self.drain) || !has(self.drain.stopDaemonSets) || size(self.drain.stopDaemonSets) == 0',
        message:
          'stopDaemonSets does nothing unless service.cordon and service.drain are true: without a cordon a DaemonSet starts its pods again; leave it out',
        fieldPath: '.drain',
      },
    ],
  },
}

export type MaintenanceRequestSpec = z.output<typeof spec>

/** The agent itself found the need to reboot, and says when it is gone. Everybody else wants one reboot. */
export function isDetected({ spec: { source } }: { readonly spec: Pick<MaintenanceRequestSpec, 'source'> }): boolean {
  return source.kind === 'Reboot' && source.key !== rebootAnnotationKey
}
