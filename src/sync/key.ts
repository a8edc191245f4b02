/** What a thing is, in whatever version one speaks of it. */
export interface Key {
  /** Empty for the core group. */
  readonly group: string
  readonly kind: string
  /** Empty for what belongs to the whole cluster. */
  readonly namespace: string
  readonly name: string
}

/** For maps and sets. No part of a key may hold a space. */
export function keyId({ group, kind, namespace, name }: Key): string {
  return `${group} ${kind} ${namespace} ${name}`
}

/** As people read it: `Deployment.apps shop/web`, `Namespace shop`. */
export function keyText({ group, kind, namespace, name }: Key): string {
  return `${group === '' ? kind : `${kind}.${group}`} ${namespace === '' ? name : `${namespace}/${name}`}`
}

export function compareKeys(one: Key, other: Key): number {
  const [a, b] = [keyId(one), keyId(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}
