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
  usedAtMs: number
}

const [firstMs, longestMs] = [5_000, 60_000]
/** An accepted eviction shows in the cache within moments; asking again before that would only be noise. */
const settleMs = 2_000
/** An EvictionRequest is answered in its own time; it is only asked whether it is still there. */
const settleRequestMs = 60_000
/** Each acceptance earns one more, so a drain never asks much more than twice as often as it has pods. */
const firstCredit = 10
const forgetAfterMs = 15 * 60_000

/** Remembers who said no and when to ask again. Losing it costs a request, never safety. */
export class EvictionPace {
  readonly #pods = new Map<string, PodPace>()
  readonly #budgets = new Map<string, BudgetPace>()
  /** When a pod of a controller left a node, and how often one came back to it since. */
  readonly #departures = new Map<string, { atMs: number; returns: number }>()
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** Whom of a plan to ask now, and how long until the next one may be asked. */
  due(
    { askNow, askLater }: Pick<DrainPlan, 'askNow' | 'askLater'>,
    nowMs: number,
  ): { readonly pods: PodToAsk[]; readonly nextMs: number | undefined } {
    const waits: number[] = []
    const drawing = new Map<string, number>()
    const isDue = ({ pod, budget }: PodToAsk): boolean => {
      const podWaitMs = this.#podOf(pod, nowMs).notBeforeMs - nowMs
      const waitMs = podWaitMs > 0 || !budget ? podWaitMs : this.#budgetWaitMs(budget, drawing, nowMs)
      if (waitMs > 0) waits.push(waitMs)
      else if (budget) drawing.set(budgetKey(budget), (drawing.get(budgetKey(budget)) ?? 0) + 1)
      return waitMs <= 0
    }
    const isDueLater = ({ budget }: PodToAsk): boolean => {
      const pace = budget && this.#budgetOf(budget, nowMs)
      const waitMs = pace ? Math.max(pace.notBeforeMs, pace.quietUntilMs) - nowMs : 0
      if (waitMs > 0) waits.push(waitMs)
      return waitMs <= 0
    }
    const pods = [...askNow.filter(isDue), ...askLater.filter(isDueLater)]
    return { pods, nextMs: waits.length > 0 ? Math.min(...waits) : undefined }
  }

  note(results: readonly AskResult[], nowMs: number): void {
    const isYes = ({ result }: AskResult) => result === 'accepted' || result === 'gone'
    for (const answer of results) if (isYes(answer)) this.#noteYes(answer.asked, nowMs)
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
    for (const [uid, { usedAtMs }] of this.#pods) if (nowMs - usedAtMs > forgetAfterMs) this.#pods.delete(uid)
    for (const [key, { usedAtMs }] of this.#budgets) if (nowMs - usedAtMs > forgetAfterMs) this.#budgets.delete(key)
    for (const [key, { atMs }] of this.#departures) if (nowMs - atMs > forgetAfterMs) this.#departures.delete(key)
  }

  #noteYes({ pod, how, budget }: PodToAsk, nowMs: number): void {
    const notBeforeMs = nowMs + (how === 'request' ? settleRequestMs : settleMs)
    this.#pods.set(pod.metadata.uid ?? '', { usedAtMs: nowMs, attempts: 0, notBeforeMs })
    const key = departureKey(pod)
    if (key) this.#departures.set(key, { atMs: nowMs, returns: this.#departures.get(key)?.returns ?? 0 })
    if (!budget) return
    const pace = this.#budgetOf(budget, nowMs)
    const version = budget.metadata.resourceVersion
    pace.drawn = pace.drawnFrom === version ? pace.drawn + 1 : 1
    pace.drawnFrom = version
    pace.attempts = 0
    pace.notBeforeMs = 0
    pace.quietUntilMs = nowMs + firstMs
    pace.credit++
  }

  #podOf(pod: PodObject, nowMs: number): PodPace {
    const uid = pod.metadata.uid ?? ''
    const pace = this.#pods.get(uid) ?? { usedAtMs: nowMs, attempts: 0, notBeforeMs: 0, ...this.#returned(pod, nowMs) }
    pace.usedAtMs = nowMs
    this.#pods.set(uid, pace)
    return pace
  }

  /** A pod that tolerates the cordon is made anew on the same node: asked at once each time, it would come and go for ever. */
  #returned(pod: PodObject, nowMs: number): Partial<PodPace> {
    const departure = this.#departures.get(departureKey(pod) ?? '')
    // The API server tells whole seconds, so one that comes back within the same one is seen at its next return.
    if (!departure || !(Date.parse(pod.metadata.creationTimestamp ?? '') >= departure.atMs)) return {}
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
      usedAtMs: nowMs,
    }
    pace.usedAtMs = nowMs
    this.#budgets.set(key, pace)
    return pace
  }

  #budgetWaitMs(budget: PodDisruptionBudget, drawing: ReadonlyMap<string, number>, nowMs: number): number {
    const pace = this.#budgetOf(budget, nowMs)
    const version = budget.metadata.resourceVersion
    const drawn = (pace.drawnFrom === version ? pace.drawn : 0) + (drawing.get(budgetKey(budget)) ?? 0)
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

function departureKey(pod: PodObject): string | undefined {
  const uid = controllerUid(pod.metadata)
  return uid && `${uid}@${pod.spec?.nodeName}`
}
