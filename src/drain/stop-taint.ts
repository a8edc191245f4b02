import type { NodeObject, Taint } from '../kube/index.ts'

/**
 * Keeps DaemonSets from starting anew what a drain has stopped: every one of them tolerates a cordon, so the cordon alone
 * does not. With NoSchedule nobody has to leave, but no DaemonSet starts a pod on the node unless it tolerates this.
 */
export const stopTaintKey = 'drain.fettle.dev/stopped-daemonsets'
const effect = 'NoSchedule'

/** Only what decides here. */
export interface Toleration {
  readonly key?: string
  readonly effect?: string
}

/** Whatever operator and value say: one that names our key is meant for it, and one without a key is meant for all. */
export function toleratesStop(tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some(
    ({ key = '', effect: only = '' }) => ['', stopTaintKey].includes(key) && ['', effect].includes(only),
  )
}

/** The taints of the node and that of `owner`, or undefined when one is there: it does the same, whoever put it there. */
export function withStopTaint({ spec }: NodeObject, owner: string): Taint[] | undefined {
  const taints = spec?.taints ?? []
  if (taints.some(isStopTaint)) return undefined
  return [...taints, { key: stopTaintKey, value: owner, effect }]
}

/** The taints of the node but for that of `owner`, or undefined when it has none. */
export function withoutStopTaint({ spec }: NodeObject, owner: string): Taint[] | undefined {
  const taints = spec?.taints ?? []
  const others = taints.filter((taint) => !isStopTaint(taint) || taint.value !== owner)
  return others.length < taints.length ? others : undefined
}

export function hasStopTaint({ spec }: NodeObject, owner: string): boolean {
  return spec?.taints?.some((taint) => isStopTaint(taint) && taint.value === owner) ?? false
}

function isStopTaint(taint: Taint): boolean {
  return taint.key === stopTaintKey && taint.effect === effect
}
