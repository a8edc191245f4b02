import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  type MaintenanceRequest,
  type Slot,
  type Waiting,
} from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { durationText } from '../time/index.ts'
import type { LedgerWorld } from './decide-ledger.ts'
import { isOver } from './decide-releases.ts'
import { type ForeignLockGate, holdsLocks } from './foreign-locks.ts'
import { mostSharers, mostSlots } from './ledger.ts'
import { inReadingOrder, type Limit, type OutNode, shortTime, type Tally } from './limits.ts'
import { isoOf, nameOf } from './names.ts'
import { patienceMs } from './order.ts'
import { windowsOf } from './settings.ts'

/** What keeps a request in line, each as a sentence with what a person can do. */

/** What can keep a request from being claimed besides the budget. Each is a sentence, or a question not asked yet. */
export interface ClaimGates {
  /** What is known of nodes or requests is too old to claim on. */
  readonly staleView?: string
  readonly freeze?: { readonly message: string; readonly untilMs?: number }
  /** Somebody else's lock over the same nodes. */
  readonly foreignLock?: ForeignLockGate
  /** Whether one of these windows is open; no names is always. */
  readonly windowOf: (names: readonly string[]) => {
    readonly isOpen: boolean
    readonly opensAtMs?: number
    readonly problem?: string
  }
  readonly blockerOf: (
    node: NodeObject,
    request: MaintenanceRequest,
  ) => { readonly message: string; readonly next: string } | 'unasked' | undefined
}

export const openGates: ClaimGates = { windowOf: () => ({ isOpen: true }), blockerOf: () => undefined }

export type Obstacle = Omit<Waiting, 'since' | 'position'>

/** What stops every claim at once. */
export function closedForAll({ budget, gates }: LedgerWorld, isBroken: boolean): Obstacle | undefined {
  if (gates.staleView) return { for: 'StaleView', message: gates.staleView, next: 'fettle status' }
  if (budget.metadata.deletionTimestamp)
    return {
      for: 'Budget',
      message: 'MaintenanceBudget cluster is being deleted; it comes back with its defaults once no slot is held',
      next: 'fettle lock',
    }
  if (!isLedgerReady(budget))
    return { for: 'StaleView', message: 'the ledger is new: slots are put back first', next: 'fettle lock' }
  if (isBroken)
    return {
      for: 'Budget',
      message:
        'more slots are held than the budget allows, because an older ledger was restored: a person has to decide',
      next: 'fettle lock',
    }
  if (gates.freeze)
    return {
      for: 'Freeze',
      message: gates.freeze.message,
      next: 'fettle thaw',
      ...(gates.freeze.untilMs === undefined ? {} : { notBefore: isoOf(gates.freeze.untilMs) }),
    }
  return undefined
}

/** What stops this request alone. */
export function ownObstacle({ budget, gates, now }: LedgerWorld, request: MaintenanceRequest): Obstacle | undefined {
  const { status, spec } = request
  const next = `fettle explain ${nameOf(request)}`
  const lock = gates.foreignLock?.(request)
  if (lock !== undefined) return { for: 'ForeignLock', message: lock, next: 'kubectl get daemonset -A' }
  if (status?.host?.request === 'Unreadable')
    return { for: 'StaleView', message: `${spec.nodeName} cannot read the file that asks for this`, next }
  const notBefore = status?.requeue?.notBefore
  if (notBefore && notBefore > now)
    return {
      for: 'Backoff',
      message: `its drain took too long ${times(status.requeue?.count ?? 1)}; it is tried again from ${shortTime(notBefore)}`,
      next: `fettle node retry ${nameOf(request)}`,
      notBefore,
    }
  if (spec.bypassWindow) return undefined
  const windows = windowsOf(request, budget.spec)
  const { isOpen: isWindowOpen, opensAtMs, problem } = gates.windowOf(windows)
  if (isWindowOpen) return undefined
  const names = windows.join(', ')
  const [is, opens, does] = windows.length > 1 ? ['are', 'open', 'do'] : ['is', 'opens', 'does']
  const when = opensAtMs === undefined ? `and ${does} not open again` : `and ${opens} at ${shortTime(isoOf(opensAtMs))}`
  return {
    for: 'Window',
    message: problem ?? `${windows.length > 1 ? 'windows' : 'window'} ${names} ${is} closed ${when}`,
    next: `fettle windows ${windows[0] ?? ''}`.trim(),
    ...(opensAtMs === undefined ? {} : { notBefore: isoOf(opensAtMs) }),
  }
}

/** Joining a slot whose node is on its way back would begin work on a node that takes pods again. */
export function closingSlot(slot: Slot, byName: ReadonlyMap<string, MaintenanceRequest>): Obstacle | undefined {
  const isClosing = slot.requests.every((name) => isOver(byName.get(name)))
  if (!isClosing)
    return slot.requests.length < mostSharers
      ? undefined
      : {
          for: 'Order',
          message: `${slot.node} is shared by ${mostSharers} requests already`,
          next: `fettle explain ${slot.node}`,
        }
  const why = slot.requests.length > 0 ? 'is being given back; its turn comes anew' : 'has a slot without a request'
  return {
    for: 'Order',
    message: `${slot.node} ${why}`,
    next: slot.requests.length > 0 ? `fettle explain ${slot.node}` : `fettle lock release ${slot.node}`,
  }
}

/** A node that is out already takes no place from anybody; and who waits for its place waits for it to come back. */
export function passed(node: NodeObject, tally: Tally, reserved: ReadonlyMap<string, string>): Obstacle | undefined {
  if (reserved.size === 0) return undefined
  const limit = tally.of(node).find(({ key, out }) => reserved.has(key) && !out.has(node.metadata.uid ?? ''))
  const who = limit && reserved.get(limit.key)
  if (!who) return undefined
  return {
    for: 'Order',
    message: `${who} has waited for ${limitText(limit)} longer than ${durationText(patienceMs)} and goes first`,
    next: `fettle explain ${who}`,
  }
}

export function fullLedger({ slots }: MaintenanceBudgetStatus): Obstacle | undefined {
  if (slots.length < mostSlots) return undefined
  return { for: 'Budget', message: `the ledger is full: ${mostSlots} nodes are out`, next: 'fettle lock' }
}

function limitText({ name, group }: Limit): string {
  return group === undefined ? `a place in ${name}` : `a place in ${name} ${group === '' ? '(no label)' : group}`
}

export function fullObstacle(limit: Limit | undefined, { spec }: MaintenanceBudget): Obstacle | undefined {
  if (!limit) return undefined
  const { key, name, group, max, total, out } = limit
  if (max === 0) {
    const what =
      name === 'cluster'
        ? 'the budget is 0: no node may leave service'
        : `limit ${name} is 0: none of its nodes may leave service`
    return { for: 'Budget', message: what, next: 'kubectl edit maintenancebudget cluster' }
  }
  const why = key === budgetName && holdsLocks(spec) ? ' while the lock of another program is held with it' : ''
  const nodes = name === 'control-plane' ? 'control-plane nodes' : 'nodes'
  const where =
    group === undefined
      ? spec.limits?.some((one) => one.name === name)
        ? ` of ${name}`
        : ''
      : ` of ${name} ${group === '' ? '(no label)' : group}`
  const isOut = inReadingOrder(out)
  return {
    for: 'Budget',
    message: `${max} of ${total} ${nodes}${where} may be out${why}: ${outText(isOut)}`,
    next: `fettle explain ${isOut[0]?.name ?? ''}`.trim(),
  }
}

function outText(out: readonly OutNode[]): string {
  const shown = out
    .slice(0, 3)
    .map(({ name, slot, why }) => (slot ? `${name} is ${why}` : `${name} is ${why}, without a slot`))
  return `${shown.join(', ')}${out.length > 3 ? ` and ${out.length - 3} more` : ''}`
}

export function blockerObstacle(block: ReturnType<ClaimGates['blockerOf']>): Obstacle | undefined {
  if (block === undefined) return undefined
  if (block === 'unasked') return { for: 'Blocker', message: 'its blockers are being asked', next: 'fettle queue' }
  return { for: 'Blocker', ...block }
}

function isLedgerReady({ status }: MaintenanceBudget): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'LedgerReady' && is === 'True') ?? false
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
