import { createHash } from 'node:crypto'
import type { Key } from '../key.ts'

/**
 * The marks by which kubectl knows a set of objects (KEP-3659). The prefix is the one that its code uses; the text of
 * the proposal writes another.
 */
export const idLabel = 'applyset.kubernetes.io/id'
export const partOfLabel = 'applyset.kubernetes.io/part-of'
export const toolingAnnotation = 'applyset.kubernetes.io/tooling'
export const groupKindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds'
export const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces'

const ourTooling = 'fettle'

/** The object that stands for the whole set. */
export interface SetParent {
  readonly name: string
  readonly namespace: string
  readonly kind: 'Secret'
  readonly group: ''
}

/** The value of the label on every member. It follows from the name of the parent alone. */
export function setIdOf({ name, namespace, kind, group }: SetParent): string {
  const hash = createHash('sha256').update(`${name}.${namespace}.${kind}.${group}`).digest('base64url')
  return `applyset-${hash}-v1`
}

/** Where members may be: other tools look there, and nowhere else. */
export interface Reach {
  /** As `Deployment.apps`, `Secret`; sorted. */
  readonly groupKinds: readonly string[]
  /** Besides the parent's own; sorted. */
  readonly namespaces: readonly string[]
}

export function reachOf(keys: readonly Key[], parent: SetParent): Reach {
  const groupKinds = new Set(keys.map(({ group, kind }) => (group === '' ? kind : `${kind}.${group}`)))
  const namespaces = new Set(keys.map(({ namespace }) => namespace))
  namespaces.delete('')
  namespaces.delete(parent.namespace)
  return { groupKinds: [...groupKinds].sort(), namespaces: [...namespaces].sort() }
}

export function widened(one: Reach, other: Reach): Reach {
  return {
    groupKinds: [...new Set([...one.groupKinds, ...other.groupKinds])].sort(),
    namespaces: [...new Set([...one.namespaces, ...other.namespaces])].sort(),
  }
}

export function readReach(annotations: Readonly<Record<string, string>> | undefined): Reach {
  const items = (name: string) => (annotations?.[name] ?? '').split(',').filter((item) => item !== '')
  return { groupKinds: items(groupKindsAnnotation), namespaces: items(namespacesAnnotation) }
}

export function parentLabels(parent: SetParent): Readonly<Record<string, string>> {
  return { [idLabel]: setIdOf(parent) }
}

/** All three even when empty: kubectl refuses a parent that does not say which kinds it holds. */
export function parentAnnotations(reach: Reach, version: string): Readonly<Record<string, string>> {
  return {
    [toolingAnnotation]: `${ourTooling}/v${version}`,
    [groupKindsAnnotation]: reach.groupKinds.join(','),
    [namespacesAnnotation]: reach.namespaces.join(','),
  }
}

/** Whether somebody else keeps the set; also when nobody says who does. As kubectl compares: without the version. */
export function isForeignTooling(
  annotations: Readonly<Record<string, string>> | undefined,
  tooling: string = ourTooling,
): boolean {
  return toolingName(annotations?.[toolingAnnotation] ?? '') !== tooling
}

/** `kubectl/v1.32.0` is `kubectl`. */
function toolingName(text: string): string {
  return text.includes('/') ? text.slice(0, text.lastIndexOf('/')) : text
}
