import * as z from 'zod'
import { conditionOf, keyedBy, time } from './values.ts'

export const phases = ['Queued', 'Claimed', 'Granted', 'Rebooting', 'Finishing', 'Held', 'Done'] as const
export type Phase = (typeof phases)[number]

interface PhaseMeaning {
  readonly hasSlot: boolean
  readonly meaning: string
}

/** What each phase means, for the reference page and for whoever explains a request. */
export const phaseMeanings: Readonly<Record<Phase, PhaseMeaning>> = {
  Queued: { hasSlot: false, meaning: 'It waits for its turn; `status.waiting` says what for.' },
  Claimed: {
    hasSlot: true,
    meaning: 'The node has a slot of the budget. It is cordoned, and its pods are asked to leave.',
  },
  Granted: { hasSlot: true, meaning: 'The node is drained. Whoever asked may work on it.' },
  Rebooting: { hasSlot: true, meaning: 'The node was told to reboot, and has not proven yet that it is back.' },
  Finishing: {
    hasSlot: true,
    meaning: 'The work is over. The node is checked, put back as it was, and its slot given back.',
  },
  Held: {
    hasSlot: true,
    meaning: 'It stopped and waits for a person; `status.held` says why and what to do. The slot still counts.',
  },
  Done: { hasSlot: false, meaning: 'It is over; `status.outcome` says how it ended.' },
}

export const outcomes = [
  'Completed',
  'Withdrawn',
  'Released',
  'Skipped',
  'Aborted',
  'NodeGone',
  'Duplicate',
  'Refused',
] as const
export type Outcome = (typeof outcomes)[number]

const waitingReasons = [
  'Freeze',
  'Window',
  'Blocker',
  'Budget',
  'Order',
  'Backoff',
  'ForeignLock',
  'StaleView',
] as const

const heldReasons = [
  'WorkDeadline',
  'DrainDeadline',
  'ReturnDeadline',
  'RebootLoop',
  'RebootNoEffect',
  'StillRequired',
  'ScriptFailed',
  'PermissionNotWritable',
  'HostUnreadable',
  'NodeLost',
  'Unhealthy',
  'OrphanGrant',
  'ExclusivityBroken',
] as const

export type HeldReason = (typeof heldReasons)[number]

const waiting = z.object({
  position: z.int().min(1).optional().describe('place in the line, 1 is next; exact for the first ten'),
  notBefore: time.optional().describe('it cannot be earlier than this'),
  for: z.enum(waitingReasons).describe('what it waits for'),
  message: z.string().describe('the same as a sentence'),
  next: z.string().optional().describe('what a person can do or look at'),
  since: time.describe('since when'),
  passedSince: time
    .optional()
    .describe('when somebody behind it first took a place that it needs; after an hour nobody does any more'),
})
export type Waiting = z.output<typeof waiting>

const slot = z.object({
  token: z.int().min(1).describe('fencing number of the slot'),
  ledgerUID: z.string().describe('UID of the budget that holds it'),
  takenAt: time.describe('when it was claimed'),
})

const refusal = z.object({
  pod: z.string().describe('namespace/name'),
  pdb: z.string().describe('namespace/name of the PodDisruptionBudget that refuses'),
  neverPasses: z.boolean().describe('true when it cannot pass without a change of budget or workload'),
})

const drain = z.object({
  startedAt: time.describe('when it began: from here the deadline counts'),
  total: z.int().min(0).describe('pods that had to leave'),
  left: z.int().min(0).describe('pods that are still there'),
  blockedBy: z.array(refusal).max(10).describe('refusals, at most ten'),
})

const requeue = z.object({
  count: z.int().min(1).describe('how often it went back into the line'),
  notBefore: time.describe('its next turn does not begin before this'),
  isPending: z.boolean().describe('the node is being given back, and then the request goes back into the line'),
})

const released = z.object({
  as: z.enum(['Released', 'Skipped', 'Aborted']).describe('the outcome that it ends with'),
  by: z.string().max(256).optional().describe('who said so'),
  reason: z.string().max(256).optional().describe('why'),
})

const held = z.object({
  from: z.enum(phases).describe('the phase that it stopped in'),
  reason: z.enum(heldReasons).describe('why, in one word'),
  message: z.string().describe('why, as a sentence'),
  next: z.string().optional().describe('what a person can do'),
})

const reboots = z.object({
  count: z.int().min(0).describe('how many'),
  bootIDBefore: z.string().optional().describe('boot ID before the last one'),
  bootIDAfter: z.string().optional().describe('boot ID after it'),
})

const historyEntry = z.object({
  time: time.describe('when'),
  phase: z.enum(phases).describe('the phase that began'),
  reason: z.string().describe('why, in one word'),
  message: z.string().describe('why, as a sentence'),
  by: z.string().optional().describe('the person, if one did it'),
  count: z.int().min(1).optional().describe('how many older entries were folded into this one'),
})

const condition = conditionOf([
  'Accepted',
  'SlotHeld',
  'Drained',
  'PermissionGiven',
  'HostAlive',
  'Returned',
  'Held',
  // There only while it is so: the API server lets nobody change the node, or what the node says of itself.
  'NodeRefused',
  'NodeStatusRefused',
])
export type RequestCondition = z.output<typeof condition>

const rebootIntent = z.object({
  token: z.int().min(1).describe('the slot that allowed it'),
  fromBootID: z.string().max(64).describe('the boot that it ends'),
  takenBack: z.literal(true).optional().describe('nobody wants it any more, and the order was not given'),
})

// A node writes this, and a node may lie: everything in it is bounded.
const host = z.object({
  request: z
    .enum(['Present', 'Absent', 'Unreadable'])
    .optional()
    .describe('the file, or the reason to reboot, that asks'),
  requestID: z.string().max(256).optional().describe('which file it is: the same one is not asked for twice'),
  permission: z
    .enum(['Absent', 'Present', 'Orphan', 'Unreadable'])
    .optional()
    .describe('the file that permits the work'),
  tokens: z
    .object({
      inFile: z.int().min(0).optional().describe('in the permission file'),
      highest: z.int().min(0).optional().describe('highest that the node ever obeyed'),
    })
    .optional()
    .describe('fencing numbers that the node knows'),
  bootID: z.string().max(64).optional().describe('boot ID as the host sees it'),
  rebootIntent: rebootIntent.optional().describe('stored before the command to reboot'),
  failure: z.string().max(1024).optional().describe('what failed on the host, as a sentence'),
  failed: z
    .enum(['Script', 'Permission', 'RebootOrder', 'RebootLoop'])
    .optional()
    .describe('what failed: the work, writing the permission, the order to reboot, or too many reboots in a day'),
})

export const requestStatus = z.object({
  observedGeneration: z.int().optional().describe('the generation of the spec that this status speaks of'),
  // With a default, because the agent may report before the controller has written anything.
  phase: z.enum(phases).default('Queued').describe('where the request is on its way'),
  since: time.optional().describe('when this phase began'),
  outcome: z.enum(outcomes).optional().describe('how it ended; only in phase Done'),
  waiting: waiting.optional().describe('why it is not its turn'),
  slot: slot.optional().describe("the node's place in the budget, copied from the ledger"),
  drain: drain.optional().describe('how far the drain is'),
  held: held.optional().describe('why it stopped and what a person can do'),
  requeue: requeue.optional().describe('the drain took too long, and it waits for another turn'),
  dismissedFailure: z
    .string()
    .max(1024)
    .optional()
    .describe('a failure of the host that a person has seen, and that does not stop it again'),
  released: released.optional().describe('the node is given back without proof that it is well'),
  reboots: reboots.optional().describe('reboots that this request took'),
  history: z.array(historyEntry).max(50).optional().describe('what happened, oldest first'),
  conditions: z.array(condition).max(16).meta(keyedBy('type', 'the same facts for programs')).optional(),
  host: host.optional().describe("the agent's report; it writes this and nothing else"),
})
export type MaintenanceRequestStatus = z.output<typeof requestStatus>
