import type { NodeObject } from '../kube/index.ts'
import type { Pass } from './state/pass.ts'
import { type HistoryEntry, historyAnnotation, readHistory } from './state/progress.ts'
import type { ChainResult, ProfileResult } from './state/result.ts'

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
  readonly #byNode = new Map<string, NodeInfo>()

  publish(node: NodeObject, pass: Pass, labelFilter: readonly string[], nowMs: number): void {
    const { name = '', labels = {}, annotations = {} } = node.metadata
    const shown = labelFilter.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]] as const]))
    this.#byNode.set(name, {
      node: name,
      profiles: pass.result.profiles.map(profileInfo),
      labels: Object.fromEntries(shown),
      updated: new Date(nowMs).toISOString(),
      ...(pass.result.problem === undefined ? {} : { problem: pass.result.problem }),
      unknown: pass.result.unknown,
      history: readHistory(annotations[historyAnnotation]),
    })
  }

  forget(node: string): void {
    this.#byNode.delete(node)
  }

  /** By name. */
  all(): readonly NodeInfo[] {
    return [...this.#byNode.values()].sort((one, other) => one.node.localeCompare(other.node))
  }

  of(node: string): NodeInfo | undefined {
    return this.#byNode.get(node)
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
