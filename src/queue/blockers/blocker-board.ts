import { createHash } from 'node:crypto'
import type { Blocker, MaintenanceRequest } from '../../api/index.ts'
import type { NodeObject, ReadSecretKey } from '../../kube/index.ts'
import { type Clock, durationMs } from '../../time/index.ts'
import { askHttp, type HttpQuestion } from './ask-http.ts'
import { alertQuery, decideAlerts } from './decide-alerts.ts'
import { type Answer, blockOf, shownWithout } from './decide-answer.ts'
import { type Answers, type Block, type BlockerVerdict, mustBeAsked } from './decide-blockers.ts'
import { decideHook, hookQuestion } from './decide-hook.ts'

export interface BlockerPorts {
  readonly clock: Clock
  readonly random: () => number
  readonly readToken: ReadSecretKey
  /** Ends every question that is under way. */
  readonly signal: AbortSignal
}

/** A request that would be claimed now, and its node. */
export interface Candidate {
  readonly node: NodeObject
  readonly request: MaintenanceRequest
}

interface Known {
  /** Nothing: the node may leave. */
  readonly block: Block | undefined
  readonly askedAtMs: number
  readonly askAgainAtMs: number
  /** When a decision last looked at it. */
  usedAtMs: number
}

interface Question extends Candidate {
  readonly blocker: Blocker
  readonly key: string
}

/** A yes is the ground for a claim, so it is used at once or asked anew. */
const yesHoldsMs = 10_000
const askAgainMs = { alerts: 10_000, hook: 30_000 } as const
/** However many requests are in line, hooks hear about two of them per second at most. */
const perKnownMs = 500
const forgetAfterMs = 600_000
const unusedAfterMs = 60_000
/** Whoever answers within this time is heard before the next in line is looked at; others are passed meanwhile. */
const patienceMs = 1_000
const [mostQuestions, sideBySide] = [24, 8]

/** Asks alerts and hooks, and remembers for a moment what they said. Losing it costs a question, never safety. */
export class BlockerBoard implements Answers {
  readonly #ports: BlockerPorts
  readonly #known = new Map<string, Known>()
  /** Questions that wait or are under way, by their key. */
  readonly #open = new Map<string, Promise<void>>()
  readonly #waiting: (() => void)[] = []
  readonly #listeners = new Set<() => void>()
  readonly #digests = new WeakMap<Blocker, string>()
  #running = 0

  constructor(ports: BlockerPorts) {
    this.#ports = ports
  }

  /** A no counts while it is asked again, so that nothing flickers; a yes does not. */
  answer(blocker: Blocker, node: NodeObject, request: MaintenanceRequest): BlockerVerdict {
    const nowMs = this.#ports.clock.monotonic()
    const key = this.#keyOf(blocker, { node, request })
    const known = this.#known.get(key)
    if (known) known.usedAtMs = nowMs
    if (known && known.askAgainAtMs > nowMs) return known.block
    const mustWait = this.#open.has(key) || this.#open.size >= mostQuestions
    return mustWait ? (known?.block ?? notYet(blocker)) : 'unasked'
  }

  /** Calls back with each answer, because it may come after its question was waited for. Gives the way to end it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Until the first no that was looked at lately is to be asked again. */
  nextChangeMs(): number | undefined {
    const nowMs = this.#ports.clock.monotonic()
    const waits = [...this.#known.values()]
      .filter(({ block, askAgainAtMs, usedAtMs }) => block && askAgainAtMs > nowMs && nowMs - usedAtMs < unusedAfterMs)
      .map(({ askAgainAtMs }) => askAgainAtMs - nowMs)
    return waits.length > 0 ? Math.min(...waits) : undefined
  }

  /** Asks what was not asked or is old, and waits a moment for answers: the ledger must not stand still for a slow one. */
  async ask(candidates: readonly Candidate[], blockers: readonly Blocker[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports
    const nowMs = clock.monotonic()
    for (const [key, known] of this.#known) if (nowMs - known.askAgainAtMs > forgetAfterMs) this.#known.delete(key)
    const askedAt = ({ key }: Question) => this.#known.get(key)?.askedAtMs ?? -1
    const asked = this.#questions(blockers, candidates)
      .filter(({ key }) => !this.#open.has(key) && (this.#known.get(key)?.askAgainAtMs ?? 0) <= nowMs)
      .sort((one, other) => askedAt(one) - askedAt(other))
      .slice(0, mostQuestions - this.#open.size)
      .map((question) => this.#begin(question))
    if (asked.length === 0) return
    const over = new AbortController()
    try {
      const enough = clock.sleep(patienceMs, AbortSignal.any([signal, over.signal]))
      await Promise.race([Promise.all(asked), enough])
    } finally {
      over.abort()
    }
  }

  #begin(question: Question): Promise<void> {
    const asking = this.#settle(question)
      .then(() => {
        for (const listener of this.#listeners) listener()
      })
      // Only the end of the whole board ends a question without an answer.
      .catch(() => undefined)
    this.#open.set(question.key, asking)
    return asking
  }

  async #settle(question: Question): Promise<void> {
    const { clock, random, signal } = this.#ports
    const { blocker, key } = question
    await this.#turn()
    try {
      const answer = await this.#answerOf(question, signal).catch((error: unknown): Answer => {
        signal.throwIfAborted()
        // Remembered like any other answer: what cannot even be asked would otherwise be tried again without a pause.
        return { mayLeave: 'unknown', why: `cannot be asked: ${error instanceof Error ? error.name : 'a fault'}` }
      })
      const block = blockOf(blocker, answer)
      const nowMs = clock.monotonic()
      const calmMs = blocker.alerts ? askAgainMs.alerts : Math.max(askAgainMs.hook, perKnownMs * this.#known.size)
      const holdsMs = block ? calmMs * (1 + random() * 0.2) : yesHoldsMs
      this.#known.set(key, { block, askedAtMs: nowMs, askAgainAtMs: nowMs + holdsMs, usedAtMs: nowMs })
    } finally {
      this.#open.delete(key)
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < sideBySide) this.#running++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async #answerOf({ blocker, node, request }: Question, signal: AbortSignal): Promise<Answer> {
    const { alerts, hook } = blocker
    const asked = alerts ?? hook
    if (!asked) return { mayLeave: 'yes' }
    const token = asked.tokenSecretKey ? await this.#ports.readToken(asked.tokenSecretKey, signal) : undefined
    if (typeof token === 'string') return { mayLeave: 'unknown', why: `was not asked: ${token}` }
    const question: Pick<HttpQuestion, 'method' | 'url' | 'headers' | 'body'> = alerts
      ? {
          method: 'GET',
          url: `${queryAddress(alerts.url)}?query=${encodeURIComponent(alertQuery(alerts))}`,
          headers: {},
        }
      : {
          method: 'POST',
          url: asked.url,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(hookQuestion(blocker.name, node, request)),
        }
    const answer = await askHttp(
      {
        ...question,
        headers: { ...question.headers, ...(token ? { authorization: `Bearer ${token.reveal()}` } : {}) },
        caBundle: asked.caBundle,
        deadlineMs: durationMs(asked.deadline),
      },
      this.#ports.clock,
      signal,
    )
    if (answer.status === 'none') return { mayLeave: 'unknown', why: answer.why }
    const decide = alerts ? decideAlerts : decideHook
    return decide(answer.status, jsonOf(answer.text), shownWithout(token?.reveal()))
  }

  /** Alerts are the same for every node, so they are one question. */
  #questions(blockers: readonly Blocker[], candidates: readonly Candidate[]): Question[] {
    const questions = new Map<string, Question>()
    // The first in line hears from all of them before the second from any.
    for (const candidate of candidates)
      for (const blocker of blockers.filter(mustBeAsked)) {
        const key = this.#keyOf(blocker, candidate)
        if (!questions.has(key)) questions.set(key, { blocker, key, ...candidate })
      }
    return [...questions.values()]
  }

  /** A blocker that was edited is another one, and so is a node or request of the same name. */
  #keyOf(blocker: Blocker, { node, request }: Candidate): string {
    let digest = this.#digests.get(blocker)
    if (digest === undefined) {
      digest = createHash('sha256').update(JSON.stringify(blocker)).digest('base64')
      this.#digests.set(blocker, digest)
    }
    return blocker.alerts ? digest : `${digest} ${node.metadata.uid} ${request.metadata.uid}`
  }
}

function notYet({ name }: Blocker): Block {
  return { message: `blocker ${name} has not answered yet`, next: 'wait for a moment' }
}

function queryAddress(url: string): string {
  return `${url.replace(/\/$/, '')}/api/v1/query`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
