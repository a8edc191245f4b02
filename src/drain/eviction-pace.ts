import { controllerUid, type PodDisruptionBudget, type PodObject } from '../kube/index.ts'
import type { AskResult } from './ask-pods.ts'
import { budgetKey } from './disruption-budgets.ts'
import type { DrainPlan, PodToAsk } from './plan.ts'

interface PodPace {
  usedAtMs: number
  attempts: number
  notBeforeMs: number
  /** What the server said last, unless it was yes. */
  answer?: string
}

interface BudgetPace {
  attempts: number
  notBeforeMs: number
  /** While it shows no room, nobody is asked before this. */
  quietUntilMs: number
  /** The version of the budget when it refused. */
  refusedIn?: string | undefined
  /** How often it may be asked before its time because it shows room again. */
  credit: number
  /** What was drawn from the version that is named here: the cache may show it for a moment longer. */
  drawnFrom?: string | undefined
  drawn: number
  /** After this the version that is shown counts what was drawn, or nothing was. */
  drawnUntilMs: number
  usedAtMs: number
}

const [firstMs, longestMs] = [5_000, 60_000]
/** An accepted eviction shows in the cache within moments; asking again before that would only be noise. */
const settleMs = 2_000
/** A budget that shows nothing of an eviction for so long lost nothing by it; and the server, which is asked next, knows. */
const drawnForMs = 30_000
/** An EvictionRequest is answered in its own time; it is only asked whether it is still there. */
const settleRequestMs = 60_000
/** Each acceptance earns one more, so a drain never asks much more than twice as often as it has pods. */
const firstCredit = 10
/** Nobody waits longer than this for an answer to what somebody was about to ask: they may be gone. */
const inFlightMs = 60_000
const forgetAfterMs = 15 * 60_000
/** Who has not looked for so long has not asked either. */
const restartAfterMs = 60_000

/** Remembers who said no and when to ask again. Losing it costs a request, never safety. */
export class EvictionPace {
  readonly #pods = new Map<string, PodPace>()
  readonly #budgets = new Map<string, BudgetPace>()
  /** Pods that were handed out and of which nothing was noted yet, by UID, and the budget that they draw from. */
  readonly #inFlight = new Map<string, { readonly untilMs: number; readonly budget: string | undefined }>()
  /** When a pod of a controller left a node, and how often one came back to it since. */
  readonly #departures = new Map<string, { readonly atMs: number; readonly wallMs: number; returns: number }>()
  /** Drains that are under way: since when, and when they were last looked at. */
  readonly #drains = new Map<string, { readonly sinceMs: number; usedAtMs: number }>()
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /**
   * Since when this process has asked the pods of a drain without a break. What another one asked, or nobody while all
   * stood still, does not count: whoever goes on to force has to have asked for as long as was promised.
   */
  askingSinceMs(drain: string, nowMs: number): number {
    const known = this.#drains.get(drain)
    const sinceMs = known && nowMs - known.usedAtMs < restartAfterMs ? known.sinceMs : nowMs
    this.#drains.set(drain, { sinceMs, usedAtMs: nowMs })
    return sinceMs
  }

  /**
   * Whom of a plan to ask now, and how long until the next one may be asked. Whoever is handed out counts as asked until it is
   * noted or given back: requests that share a node are served side by side, and each would ask the same pods.
   */
  due(
    { askNow, askLater }: Pick<DrainPlan, 'askNow' | 'askLater'>,
    nowMs: number,
  ): { readonly pods: PodToAsk[]; readonly nextMs: number | undefined } {
    const waits: number[] = []
    const drawing = this.#drawnInFlight(nowMs)
    const handOut = ({ pod, budget }: PodToAsk, waitMs: number): boolean => {
      if (waitMs > 0) {
        waits.push(waitMs)
        return false
      }
      const key = budget && budgetKey(budget)
      this.#inFlight.set(uidOf(pod), { untilMs: nowMs + inFlightMs, budget: key })
      if (key !== undefined) drawing.set(key, (drawing.get(key) ?? 0) + 1)
      return true
    }
    const isDue = (one: PodToAsk): boolean => {
      const { pod, budget } = one
      const podWaitMs = this.#inFlight.has(uidOf(pod)) ? settleMs : this.#podOf(pod, nowMs).notBeforeMs - nowMs
      return handOut(one, podWaitMs > 0 || !budget ? podWaitMs : this.#budgetWaitMs(budget, drawing, nowMs))
    }
    const isDueLater = (one: PodToAsk): boolean => {
      const { pod, budget } = one
      const pace = budget && this.#budgetOf(budget, nowMs)
      // Of a budget that seems to have nothing to give one pod is asked at a time, whichever node it is on.
      const isAsked = this.#inFlight.has(uidOf(pod)) || (budget !== undefined && drawing.has(budgetKey(budget)))
      const quietMs = pace ? Math.max(pace.notBeforeMs, pace.quietUntilMs) - nowMs : 0
      return handOut(one, isAsked ? Math.max(settleMs, quietMs) : quietMs)
    }
    const pods = [...askNow.filter(isDue), ...askLater.filter(isDueLater)]
    return { pods, nextMs: waits.length > 0 ? Math.min(...waits) : undefined }
  }

  /** Pods that were handed out, and of which nobody knows whether they were asked: they are due again. */
  giveBack(pods: readonly PodToAsk[]): void {
    for (const { pod } of pods) this.#inFlight.delete(uidOf(pod))
  }

  note(
    results: readonly AskResult[],
    nowMs: number,
    /** The time as the API server tells it, if `nowMs` is that of a clock that only measures. */
    wallMs = nowMs,
  ): void {
    this.giveBack(results.map(({ asked }) => asked))
    for (const { asked, result } of results) {
      if (result !== 'accepted' && result !== 'gone') continue
      this.#noteGoing(asked, nowMs, wallMs)
      // For a pod that was gone already the server took nothing from its budget. Of those who are deleted it keeps no count.
      if (asked.budget && (result === 'accepted' || asked.how === 'delete'))
        this.#noteDrawn(asked.budget, nowMs, result === 'accepted' && asked.how === 'delete')
    }
    const refusing = new Set<string>()
    for (const answer of results) {
      if (answer.result !== 'refused' && answer.result !== 'failed') continue
      const { asked, why, retryAfterMs = 0, result } = answer
      const pod = this.#podOf(asked.pod, nowMs)
      pod.answer = why
      if (result === 'refused' && asked.budget) {
        // Many pods of one budget that are refused together are one refusal.
        if (refusing.has(budgetKey(asked.budget))) continue
        refusing.add(budgetKey(asked.budget))
        const budget = this.#budgetOf(asked.budget, nowMs)
        budget.refusedIn = asked.budget.metadata.resourceVersion
        budget.notBeforeMs = nowMs + Math.max(retryAfterMs, this.#backoffMs(budget.attempts++))
      } else pod.notBeforeMs = nowMs + Math.max(retryAfterMs, this.#backoffMs(pod.attempts++))
    }
  }

  /** What the server said last to pods that were asked in vain, by UID. */
  answers(): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const [uid, { answer }] of this.#pods) if (answer !== undefined) found.set(uid, answer)
    return found
  }

  /** What was not asked about for long is gone, or settled. */
  forgetOld(nowMs: number): void {
    for (const known of [this.#pods, this.#budgets, this.#drains])
      for (const [key, { usedAtMs }] of known) if (nowMs - usedAtMs > forgetAfterMs) known.delete(key)
    for (const [key, { atMs }] of this.#departures) if (nowMs - atMs > forgetAfterMs) this.#departures.delete(key)
  }

  #noteGoing({ pod, how }: PodToAsk, nowMs: number, wallMs: number): void {
    const notBeforeMs = nowMs + (how === 'request' ? settleRequestMs : settleMs)
    this.#pods.set(uidOf(pod), { usedAtMs: nowMs, attempts: 0, notBeforeMs })
    const key = departureKey(pod)
    if (key) this.#departures.set(key, { atMs: nowMs, wallMs, returns: this.#departures.get(key)?.returns ?? 0 })
  }

  #noteDrawn(budget: PodDisruptionBudget, nowMs: number, isForGood: boolean): void {
    const pace = this.#budgetOf(budget, nowMs)
    const drawn = drawnOf(pace, budget, nowMs)
    const untilMs = isForGood ? Number.POSITIVE_INFINITY : nowMs + drawnForMs
    pace.drawnUntilMs = drawn > 0 ? Math.max(pace.drawnUntilMs, untilMs) : untilMs
    pace.drawn = drawn + 1
    pace.drawnFrom = budget.metadata.resourceVersion
    pace.attempts = 0
    pace.notBeforeMs = 0
    pace.quietUntilMs = nowMs + firstMs
    pace.credit++
  }

  /** How many are in flight of each budget. Whatever version it shows by now: nobody knows whether it counts them yet. */
  #drawnInFlight(nowMs: number): Map<string, number> {
    const drawn = new Map<string, number>()
    for (const [uid, { untilMs, budget }] of this.#inFlight)
      if (untilMs <= nowMs) this.#inFlight.delete(uid)
      else if (budget !== undefined) drawn.set(budget, (drawn.get(budget) ?? 0) + 1)
    return drawn
  }

  #podOf(pod: PodObject, nowMs: number): PodPace {
    const uid = uidOf(pod)
    const pace = this.#pods.get(uid) ?? { usedAtMs: nowMs, attempts: 0, notBeforeMs: 0, ...this.#returned(pod, nowMs) }
    pace.usedAtMs = nowMs
    this.#pods.set(uid, pace)
    return pace
  }

  /** A pod that tolerates the cordon is made anew on the same node: asked at once each time, it would come and go for ever. */
  #returned(pod: PodObject, nowMs: number): Partial<PodPace> {
    const departure = this.#departures.get(departureKey(pod) ?? '')
    // The API server tells whole seconds, so one that comes back within the same one is seen at its next return.
    if (!departure || !(Date.parse(pod.metadata.creationTimestamp ?? '') >= departure.wallMs)) return {}
    const notBeforeMs = nowMs + this.#backoffMs(departure.returns++)
    return { notBeforeMs, answer: 'it comes back to this node each time it is evicted: it tolerates the cordon' }
  }

  #budgetOf(budget: PodDisruptionBudget, nowMs: number): BudgetPace {
    const key = budgetKey(budget)
    const pace = this.#budgets.get(key) ?? {
      attempts: 0,
      notBeforeMs: 0,
      quietUntilMs: nowMs + firstMs,
      credit: firstCredit,
      drawn: 0,
      drawnUntilMs: nowMs,
      usedAtMs: nowMs,
    }
    pace.usedAtMs = nowMs
    this.#budgets.set(key, pace)
    return pace
  }

  #budgetWaitMs(budget: PodDisruptionBudget, drawing: ReadonlyMap<string, number>, nowMs: number): number {
    const pace = this.#budgetOf(budget, nowMs)
    const version = budget.metadata.resourceVersion
    const drawn = drawnOf(pace, budget, nowMs) + (drawing.get(budgetKey(budget)) ?? 0)
    if (drawn >= (budget.status?.disruptionsAllowed ?? 0)) return settleMs
    const waitMs = pace.notBeforeMs - nowMs
    if (waitMs <= 0) return 0
    if (version === pace.refusedIn || pace.credit <= 0) return waitMs
    pace.credit--
    return 0
  }

  #backoffMs(attempts: number): number {
    return Math.min(longestMs, firstMs * 2 ** attempts) * (1 + this.#random() * 0.2)
  }
}

/** What was drawn from the version of a budget that is shown, and that it may not show yet. */
function drawnOf(pace: BudgetPace, { metadata }: PodDisruptionBudget, nowMs: number): number {
  return pace.drawnFrom === metadata.resourceVersion && nowMs < pace.drawnUntilMs ? pace.drawn : 0
}

function uidOf({ metadata }: PodObject): string {
  return metadata.uid ?? ''
}

function departureKey(pod: PodObject): string | undefined {
  const uid = controllerUid(pod.metadata)
  return uid && `${uid}@${pod.spec?.nodeName}`
}
