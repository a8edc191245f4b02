import { type Command, Option } from 'commander'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  releaseAnnotations,
  type Slot,
} from '../api/index.ts'
import { type ConnectedClient, waitFor } from '../kube/index.ts'
import { isOpen, shortTime } from '../queue/index.ts'
import { durationText, systemClock } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, withCluster } from './cluster-options.ts'
import { confirmByName } from './confirm.ts'
import { type CliContext, CliFault } from './context.ts'
import { requestText } from './follow-request.ts'
import { askedBy } from './node-history.ts'
import { addReasonOption, addYesOption, sayVerb, type VerbFlags, whatHappens } from './node-verb.ts'
import { progressOn } from './progress.ts'
import { userName } from './user-name.ts'
import { readBudget } from './world.ts'

/** `fettle lock`: who holds the slots of the budget, and how to free one that nobody gives back. */
export function addLockCommands(program: Command, context: CliContext): void {
  const lock = program.command('lock').description('who holds the slots of the budget')

  addClusterOptions(lock.command('show', { isDefault: true }))
    .description('who holds slots, since when, why, and with which token; `fettle lock` alone does the same')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (flags: ClusterFlags & { readonly output: string }) => {
      const locks = await withCluster(flags, async (client) => locksOf(await readLedger(client)))
      context.out(flags.output === 'json' ? `${JSON.stringify(locks, null, 2)}\n` : lockText(locks, context.nowMs()))
    })

  const release = addClusterOptions(lock.command('release'))
    .description('give a node back and free its slot, without proof that it is well, also when its requests are gone')
    .argument('<node>')
  addYesOption(addReasonOption(release)).action(async (name: string, flags: Omit<VerbFlags, 'wait'>) => {
    await withCluster(flags, (client) => releaseSlot(client, name, flags, context))
  })
}

interface Ledger {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
}

async function readLedger(client: ConnectedClient): Promise<Ledger> {
  return { budget: await readBudget(client), requests: await listAll<MaintenanceRequest>(client, maintenanceRequests) }
}

export interface Locks {
  readonly nextToken: number
  readonly slots: readonly {
    readonly node: string
    readonly nodeUID: string
    readonly token: number
    readonly takenAt: string
    /** The node is back, and the slot rests until then. */
    readonly soakUntil: string | null
    readonly holders: readonly Holder[]
  }[]
}

interface Holder {
  readonly request: string
  /** Null when the request does not exist any more. */
  readonly phase: string | null
  readonly askedBy: string | null
  readonly reason: string | null
  readonly text: string
}

export function locksOf({ budget, requests }: Ledger): Locks {
  const { slots = [], nextToken = 1 } = budget.status ?? {}
  return {
    nextToken,
    slots: slots.map((slot) => ({
      node: slot.node,
      nodeUID: slot.nodeUID,
      token: slot.token,
      takenAt: slot.takenAt,
      soakUntil: slot.soakUntil ?? null,
      holders: slot.requests.map((name) => holderOf(slot, name, requests)),
    })),
  }
}

function holderOf(slot: Slot, name: string, requests: readonly MaintenanceRequest[]): Holder {
  const request = requests.find(({ metadata }) => metadata.name === name)
  if (!request)
    return {
      request: name,
      phase: null,
      askedBy: null,
      reason: null,
      text: `does not exist any more; \`fettle lock release ${slot.node} --reason …\` frees the slot`,
    }
  return {
    request: name,
    phase: request.status?.phase ?? 'Queued',
    askedBy: askedBy(request),
    reason: request.spec.reason,
    text: requestText(request),
  }
}

export function lockText({ slots, nextToken }: Locks, nowMs: number): string {
  if (slots.length === 0) return `no slot is taken; the next token is ${nextToken}\n`
  const parts = slots.map(({ node, token, takenAt, soakUntil, holders }) => {
    const rest = soakUntil ? `; back in service, its slot rests until ${shortTime(soakUntil)}` : ''
    const age = durationText(Math.max(0, nowMs - Date.parse(takenAt)))
    const lines = holders.map(({ request, askedBy, reason, text }) =>
      askedBy === null ? `  ${request} ${text}\n` : `  ${request}: ${text} [${reason}], asked by ${askedBy}\n`,
    )
    return `${node}  token ${token}, since ${shortTime(takenAt)} (${age})${rest}\n${lines.join('')}`
  })
  return `${parts.join('')}the next token is ${nextToken}\n`
}

async function releaseSlot(
  client: ConnectedClient,
  name: string,
  { reason, yes }: Pick<VerbFlags, 'reason' | 'yes'>,
  context: CliContext,
): Promise<void> {
  const ledger = await readLedger(client)
  const slot = findSlot(ledger.budget.status?.slots ?? [], name)
  const holders = holdersOf(slot, ledger.requests)
  await confirmByName(context, { what: releaseText(slot, holders), name: slot.node, isConfirmed: yes })
  // However each of them ends, it holds the slot no longer.
  for (const holder of holders)
    await sayVerb(client, holder, 'release', { reason, wait: true, outcomes: 'any' }, context)
  // Of a slot with several holders some may be gone: with the last living one it is not yet free.
  const after = await readLedger(client)
  const left = after.budget.status?.slots.find(({ token }) => token === slot.token)
  if (!left || left.soakUntil || holdersOf(left, after.requests).length > 0) return
  await orderRelease(client, left, reason, context)
}

/** By node name, or by UID where a node was made anew under the same name. */
export function findSlot(slots: readonly Slot[], name: string): Slot {
  const found = slots.filter(({ node, nodeUID }) => node === name || nodeUID === name)
  const [slot, ...others] = found
  if (!slot) throw new CliFault(`${name} has no slot; \`fettle lock\` shows who has one`)
  if (others.length > 0) {
    const uids = found.map(({ nodeUID, token }) => `${nodeUID} (token ${token})`).join(', ')
    throw new CliFault(`${name} was made anew, and each has a slot; name one by its UID: ${uids}`)
  }
  if (slot.soakUntil)
    throw new CliFault(
      `${slot.node} is back in service already; its slot rests until ${shortTime(slot.soakUntil)}, then it is free`,
    )
  return slot
}

function holdersOf(slot: Slot, requests: readonly MaintenanceRequest[]): MaintenanceRequest[] {
  return requests.filter((request) => slot.requests.includes(request.metadata.name ?? '') && isOpen(request))
}

export function releaseText(slot: Slot, holders: readonly MaintenanceRequest[]): string {
  if (holders.length > 0) return holders.map((holder) => whatHappens(holder, 'release')).join('\n')
  const gone = slot.requests.length === 1 ? `${slot.requests[0]} does` : `${slot.requests.join(', ')} do`
  return [
    `Slot ${slot.token} of ${slot.node} is freed, and the node takes pods again: ${gone} not exist any more.`,
    'Nobody checks whether work on it has ended, or whether it is well.',
  ].join(' ')
}

/** Longer than any change of leaders takes, and giving the node back. */
const patienceMs = 120_000

async function orderRelease(client: ConnectedClient, slot: Slot, reason: string, context: CliContext): Promise<void> {
  const annotations = {
    [releaseAnnotations.slot]: slot.nodeUID,
    [releaseAnnotations.reason]: reason,
    [releaseAnnotations.by]: (await userName(client)) ?? null,
  }
  await client.patch(
    maintenanceBudgets,
    { name: budgetName },
    { type: 'merge', body: { metadata: { annotations } } },
    { fieldManager: 'fettle-cli', signal: context.signal },
  )
  const progress = progressOn(context.progress, context.nowMs)
  const isThere = (budget: MaintenanceBudget | undefined) =>
    budget?.status?.slots.some(({ token }) => token === slot.token) ?? false
  const result = await waitFor<MaintenanceBudget>(
    client,
    maintenanceBudgets,
    { name: budgetName },
    (budget) => {
      if (!isThere(budget)) return true
      // The controller takes the order away when it has answered it, also when it does not free the slot.
      if (!budget?.metadata.annotations?.[releaseAnnotations.slot]) return true
      const text = `${slot.node}: waiting for the controller`
      progress.update(text)
      return text
    },
    { signal: context.signal, deadlineMs: patienceMs, clock: systemClock, random: Math.random },
  )
  if (result.outcome === 'deadline')
    throw new CliFault(
      `the controller has not answered for ${patienceMs / 60_000} minutes; the order stays, and is carried out once it runs`,
    )
  if (isThere(result.object))
    throw new CliFault(`${slot.node} keeps its slot ${slot.token}; \`fettle lock\` shows who holds it now`)
  progress.done(`${slot.node}: slot ${slot.token} is free`)
}
