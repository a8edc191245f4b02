import type { NodeObject } from '../kube/index.ts'
import { tellsOverdue } from './plugins/trigger/drain-progress.ts'
import type { Pass } from './state/pass.ts'
import { type HistoryEntry, historyAnnotation, readHistory } from './state/progress.ts'
import type { ChainResult, PassResult, ProfileResult } from './state/result.ts'

/** What the info API of the original answers for a node, field by field; what it does not know stands beside it. */
export interface NodeInfo {
  readonly node: string
  readonly profiles: readonly ProfileInfo[]
  readonly labels: Readonly<Record<string, string>>
  readonly updated: string
  /** Why nothing is decided about the node; ours. */
  readonly problem?: string
  /** Names in its label that the file does not know; ours. */
  readonly unknown: readonly string[]
  /** Transitions that were stored, newest first; ours. */
  readonly history: readonly HistoryEntry[]
}

interface ProfileInfo {
  readonly name: string
  readonly state: string
  readonly applied: { readonly next: string; readonly error: string; readonly transitions: readonly TransitionInfo[] }
  readonly waitsFor?: string
  readonly overdue?: boolean
}

interface TransitionInfo {
  readonly target: string
  readonly passed: boolean
  readonly error: string
  readonly chain: {
    readonly passed: boolean
    readonly expression: string
    readonly info: Readonly<Record<string, CheckInfo>>
  }
}

interface CheckInfo {
  readonly id: string
  readonly passed: boolean
  readonly info: Readonly<Record<string, unknown>>
}

/** The last look at each node. */
export class InfoBoard {
  readonly #byNode = new Map<string, Seen>()

  publish(node: NodeObject, pass: Pass, labelFilter: readonly string[], nowMs: number): void {
    const { name = '', labels = {}, annotations = {} } = node.metadata
    const shown = labelFilter.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]] as const]))
    const { result } = pass
    this.#byNode.set(name, {
      result,
      labels: Object.fromEntries(shown),
      nowMs,
      history: annotations[historyAnnotation],
    })
  }

  forget(node: string): void {
    this.#byNode.delete(node)
  }

  /** Who no longer acts does not know how nodes are. */
  forgetNodes(): void {
    this.#byNode.clear()
  }

  /** By name. */
  all(): readonly NodeInfo[] {
    return [...this.#byNode]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([node, seen]) => infoOf(node, seen))
  }

  /** Where each profile of each node stands; one that the file does not have is `unknown`. */
  *states(): Generator<{ readonly profile: string; readonly state: string }> {
    for (const { result } of this.#byNode.values()) {
      for (const { name: profile, next: state } of result.profiles) yield { profile, state }
      for (const profile of result.unknown) yield { profile, state: 'unknown' }
    }
  }

  /** A profile for each node that its drain does not get empty in time. */
  *overdueDrains(): Generator<string> {
    for (const { result } of this.#byNode.values())
      for (const { name, waitsFor } of result.profiles) if (tellsOverdue(waitsFor)) yield name
  }
}

/** As little as possible: looks are many, and who asks to see them are few. */
interface Seen {
  readonly result: PassResult
  readonly labels: Readonly<Record<string, string>>
  readonly nowMs: number
  readonly history: string | undefined
}

function infoOf(node: string, { result, labels, nowMs, history }: Seen): NodeInfo {
  return {
    node,
    profiles: result.profiles.map(profileInfo),
    labels,
    updated: new Date(nowMs).toISOString(),
    ...(result.problem === undefined ? {} : { problem: result.problem }),
    unknown: result.unknown,
    history: readHistory(history),
  }
}

function profileInfo({ name, state, next, failure, transitions, waitsFor, isOverdue }: ProfileResult): ProfileInfo {
  return {
    name,
    state,
    applied: {
      next,
      error: failure ? failure.cause : '',
      transitions: transitions.map(({ target, isPassed, chain }) => ({
        target,
        passed: isPassed,
        error: chain.error ?? '',
        chain: chainInfo(chain),
      })),
    },
    ...(waitsFor === undefined ? {} : { waitsFor }),
    ...(isOverdue ? { overdue: true } : {}),
  }
}

function chainInfo({ isPassed, expression, checks }: ChainResult): TransitionInfo['chain'] {
  const info = checks.map(({ name, type, isPassed: passed, info: details, error }) => [
    name,
    { id: type, passed, info: error === undefined ? details : { ...details, error } },
  ])
  return { passed: isPassed, expression, info: Object.fromEntries(info) as Record<string, CheckInfo> }
}
