export { BlockerBoard } from './blockers/index.ts'
export { decideLedger, type LedgerDecision, type LedgerWorld } from './decide-ledger.ts'
export { decideRequest, windowBypassed } from './decide-request.ts'
export { letOurLocksGo } from './foreign-lock-turn.ts'
export { foreignLock } from './foreign-locks.ts'
export { Heartbeats } from './heartbeats.ts'
export { slotOf } from './ledger.ts'
export { type OutNode, shortTime } from './limits.ts'
export { makeRequest } from './make-request.ts'
export { controllerManager, cordonOwner, finalizer, shortHash } from './names.ts'
export { canRunElsewhere, isControlPlane, isReady, staticPodAilment } from './node-facts.ts'
export type { ClaimGates } from './obstacles.ts'
export { inOrder, isOpen, wantsOut } from './order.ts'
export type { QueueLog, QueuePorts } from './ports.ts'
export { queuedTaintPatch } from './queued-taint.ts'
export type { RequestStep, RequestWorld } from './request-steps.ts'
export { runQueue } from './run-queue.ts'
export { settingsOf } from './settings.ts'
export { openViews, podsByNode, type QueueViews, requestsOfNode } from './views.ts'
export {
  type CalendarOf,
  calendarIn,
  freezeText,
  openWindowViews,
  readWindowObject,
  runWindowStatus,
  type Timetable,
  timetableOf,
  viewFreezes,
  viewWindow,
  type WindowViews,
  windowsFrom,
} from './windows/index.ts'
