import type { KubeObject } from '../kube/index.ts'
import { stopTaintKey, type Toleration, toleratesStop } from './stop-taint.ts'

/** DaemonSets whose pods a drain stops as well, because somebody named them. */

export interface DaemonSetName {
  readonly namespace: string
  readonly name: string
}

export interface DaemonSetObject extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: { readonly tolerations?: readonly Toleration[] } } }
  readonly status?: { readonly numberReady?: number }
}

/** By their UIDs. */
export type DaemonSets = ReadonlyMap<string, DaemonSetObject>

export function daemonSetsByUid(daemonSets: Iterable<DaemonSetObject>): DaemonSets {
  return new Map([...daemonSets].map((one) => [one.metadata.uid ?? '', one]))
}

/** Its name is fixed, whatever namespace an installation lies in. */
const ownAgent = 'fettle-agent'

/** Why a DaemonSet that was named cannot be stopped, or undefined when it can. What it makes next is what counts. */
export function unstoppable({ metadata, spec }: DaemonSetObject): string | undefined {
  if (metadata.name === ownAgent)
    return `DaemonSet ${nameText(metadata)} cannot be stopped: it is Fettle itself and does the work on its node; take it off the list`
  if (!toleratesStop(spec?.template?.spec?.tolerations)) return undefined
  return `DaemonSet ${nameText(metadata)} cannot be stopped: it tolerates the taint ${stopTaintKey} and would start its pod again; write keys into its tolerations, or take it off the list`
}

export function isNamed({ metadata }: KubeObject, names: readonly DaemonSetName[]): boolean {
  return names.some(({ namespace, name }) => namespace === metadata.namespace && name === metadata.name)
}

/** A sentence for each name that no DaemonSet has. */
export function missingDaemonSets(names: readonly DaemonSetName[], known: DaemonSets): string[] {
  const existing = new Set([...known.values()].map(({ metadata }) => nameText(metadata)))
  return names
    .map(nameText)
    .filter((name) => !existing.has(name))
    .map((name) => `DaemonSet ${name} is to be stopped, and does not exist: look at its namespace and its name`)
}

function nameText({ namespace, name }: Partial<DaemonSetName>): string {
  return `${namespace}/${name}`
}
