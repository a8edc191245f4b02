import { isObject, type Json } from '../json.ts'
import { groupOf } from '../key.ts'
import type { Manifest } from './read-manifests.ts'

type Scope = 'Namespaced' | 'Cluster'
export type ScopeOf = (apiVersion: string, kind: string) => Scope | undefined

/** Kinds that the set itself defines come first: they are what the server will know. */
export function scopesOf(manifests: readonly Manifest[], server: { readonly scopeOf: ScopeOf }): ScopeOf {
  const defined = new Set<string>()
  const scopes = new Map<string, Scope>()
  for (const { value } of manifests) {
    const { apiVersion, kind, spec } = value
    if (kind !== 'CustomResourceDefinition' || apiVersion !== 'apiextensions.k8s.io/v1') continue
    if (!isObject(spec) || !isObject(spec['names'])) continue
    const { group } = spec
    const { kind: name } = spec['names']
    if (typeof group !== 'string' || typeof name !== 'string') continue
    defined.add(`${group} ${name}`)
    for (const version of served(spec['versions']))
      scopes.set(`${group}/${version} ${name}`, spec['scope'] === 'Cluster' ? 'Cluster' : 'Namespaced')
  }
  return (apiVersion, kind) =>
    defined.has(`${groupOf(apiVersion)} ${kind}`)
      ? scopes.get(`${apiVersion} ${kind}`)
      : server.scopeOf(apiVersion, kind)
}

function served(versions: Json | undefined): readonly string[] {
  if (!Array.isArray(versions)) return []
  return versions.flatMap((version: Json) =>
    isObject(version) && version['served'] !== false && typeof version['name'] === 'string' ? [version['name']] : [],
  )
}
