import type { NodeObject } from '../kube/index.ts'
import type { NotifyContext, NotifyInstance, PluginDoors } from './plugin.ts'
import { NotSent } from './plugins/notify/not-sent.ts'
import { messageOf } from './state/evaluate-chain.ts'
import { readGoTime } from './state/go-time.ts'
import type { Sent } from './state/notices.ts'
import type { Pass } from './state/pass.ts'
import type { Pending } from './state/progress.ts'

export interface OutboxPorts {
  readonly doors: PluginDoors
  readonly random: () => number
  /** A message went out, or was given up: the node should be looked at, so that it is noted there. */
  readonly onSent: (node: string) => void
  readonly onFailure: (failure: OutboxFailure) => void
  /** It was sent, but not to everybody. */
  readonly onRemark: (remark: OutboxRemark) => void
  readonly signal: AbortSignal
}

export interface OutboxFailure extends Pending {
  readonly node: NodeObject
  readonly attempt: number
  readonly cause: string
  /** It will not go by itself: the file has to be changed, or whoever receives it. */
  readonly needsPerson: boolean
}

export interface OutboxRemark extends Pending {
  readonly node: NodeObject
  readonly remark: string
}

export interface Offer {
  readonly node: NodeObject
  readonly pending: Pending
  readonly instance: NotifyInstance
  readonly context: NotifyContext
}

interface Letter {
  readonly nodeUID: string
  /** The newest: the file may have been mended since the first try. */
  offer: Offer
  sentMs?: number
  /** Nothing can be noted on its node now: it would be sent again after a restart. */
  isHeld: boolean
  /** Why nobody is about to send it, if so: it is held, or it needs a person. */
  parked: 'held' | 'hopeless' | undefined
  /** Of two tries that wait, only the one that was begun last counts. */
  turn: number
}

/** Messages of one instance: whoever does not answer there holds up those of no other. */
interface Line {
  readonly waiting: (() => Promise<void>)[]
  underWay: number
}

/** Of one instance. */
const atOnce = 2
const deadlineMs = 15_000
const [firstRetryMs, longestRetryMs] = [2_000, 300_000]
/** What only a person can mend is hardly mended within minutes. */
const hopelessRetryMs = 3_600_000
/** After so long nobody mends it for the sake of this message. */
const hopelessLifeMs = 86_400_000

/**
 * Sends what is pending on nodes, beside everything else: a message that cannot be sent holds up no node, and is tried
 * again until it goes, its profile leaves the node, or a day is over without the person whom it needs. What was sent or
 * given up is handed back, to be noted on the node: either way its schedule goes on from there.
 */
export class Outbox {
  readonly #ports: OutboxPorts
  readonly #letters = new Map<string, Letter>()
  /** By the names of instances, of which a file has few. */
  readonly #lines = new Map<string, Line>()

  constructor(ports: OutboxPorts) {
    this.#ports = ports
  }

  get size(): number {
    return this.#letters.size
  }

  /** Each message once, however often it is offered. */
  offer(offer: Offer): void {
    const { uid: nodeUID = '' } = offer.node.metadata
    const key = keyOf(nodeUID, offer.pending)
    const letter = this.#letters.get(key)
    if (!letter) {
      this.#letters.set(key, { nodeUID, offer, isHeld: false, parked: undefined, turn: 0 })
      this.#enqueue(key, 0, 1)
      return
    }
    const isMended = letter.parked === 'hopeless' && letter.offer.instance !== offer.instance
    const goesOn = isMended || letter.parked === 'held'
    letter.offer = offer
    letter.isHeld = false
    if (!goesOn) return
    const turn = ++letter.turn
    letter.parked = undefined
    this.#enqueue(key, turn, 1)
  }

  /** What is not on its way already is not sent before it is offered again. */
  hold(nodeUID: string): void {
    for (const letter of this.#letters.values()) if (letter.nodeUID === nodeUID) letter.isHeld = true
  }

  /** What of these was sent, or given up. */
  sentOf(nodeUID: string, pending: readonly Pending[]): readonly Sent[] {
    return pending.flatMap((one) => {
      const sentMs = this.#letters.get(keyOf(nodeUID, one))?.sentMs
      return sentMs === undefined ? [] : [{ ...one, sentMs }]
    })
  }

  /** Only these are still pending on the node: all else of it is forgotten. */
  keepOnly(nodeUID: string, pending: readonly Pending[]): void {
    const kept = new Set(pending.map((one) => keyOf(nodeUID, one)))
    for (const [key, letter] of this.#letters)
      if (letter.nodeUID === nodeUID && !kept.has(key)) this.#letters.delete(key)
  }

  #enqueue(key: string, turn: number, attempt: number): void {
    const name = this.#letters.get(key)?.offer.instance.name
    // No longer pending.
    if (name === undefined) return
    const line = this.#lines.get(name) ?? { waiting: [], underWay: 0 }
    this.#lines.set(name, line)
    line.waiting.push(() => this.#send(key, turn, attempt))
    this.#next(line)
  }

  #next(line: Line): void {
    while (line.underWay < atOnce && !this.#ports.signal.aborted) {
      const send = line.waiting.shift()
      if (!send) return
      line.underWay++
      void send().finally(() => {
        line.underWay--
        this.#next(line)
      })
    }
  }

  async #send(key: string, turn: number, attempt: number): Promise<void> {
    const { doors, random, onSent, onFailure, onRemark, signal } = this.#ports
    const letter = this.#letters.get(key)
    if (letter?.turn !== turn || signal.aborted) return
    letter.parked = letter.isHeld ? 'held' : undefined
    if (letter.isHeld) return
    const { offer } = letter
    try {
      const remark = await offer.instance.instance.send(
        offer.context,
        doors,
        AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
      )
      letter.sentMs = doors.clock.now()
      if (remark !== undefined) onRemark({ ...offer.pending, node: offer.node, remark })
      onSent(offer.node.metadata.name ?? '')
    } catch (error) {
      if (signal.aborted) return
      const needsPerson = error instanceof NotSent && !error.isWorthRetry
      onFailure({ ...offer.pending, node: offer.node, attempt, cause: messageOf(error), needsPerson })
      const nowMs = doors.clock.now()
      if (needsPerson && nowMs - Date.parse(offer.pending.at) >= hopelessLifeMs) {
        letter.sentMs = nowMs
        onSent(offer.node.metadata.name ?? '')
        return
      }
      if (needsPerson) letter.parked = 'hopeless'
      const backoffMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (attempt - 1)) * (0.5 + random() / 2)
      void doors.clock
        .sleep(needsPerson ? hopelessRetryMs : backoffMs, signal)
        .then(() => this.#enqueue(key, turn, attempt + 1))
        .catch(() => undefined)
    }
  }
}

/** What it says of the profile and of maintenance is of the moment when the message became due, however late it is sent. */
export function messageContext(
  node: NodeObject,
  { profile, state, transition, isInMaintenance }: Pending,
  {
    lastTransition,
    isInMaintenance: isNowInMaintenance,
    isDetailed,
  }: Pick<Pass, 'lastTransition' | 'isInMaintenance' | 'isDetailed'>,
): NotifyContext {
  const at = readGoTime(transition ?? '')
  return {
    profile,
    state,
    lastProfile: lastTransition?.profile ?? profile,
    isInMaintenance: isInMaintenance ?? isNowInMaintenance,
    lastTransitionMs: at?.ms ?? 0,
    ...(at ? { lastTransitionText: at.text } : {}),
    isDetailed,
    node,
  }
}

function keyOf(nodeUID: string, { profile, instance, at }: Pending): string {
  return JSON.stringify([nodeUID, profile, instance, at])
}
