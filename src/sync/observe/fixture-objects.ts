import type { Key } from '../key.ts'
import type { ObservedMeta, ObservedObject } from '../observed.ts'
import { carefulDeletion, type DeletionPolicy, type Policy } from '../policy.ts'
import type { PruneWorld } from './prune-world.ts'

export const nowMs = Date.parse('2026-03-01T12:00:00Z')
export const setId = 'applyset-ours-v1'

/** For tests: `Deployment.apps shop/web` and what is special about it. */
export function seen(
  text: string,
  metadata: ObservedMeta = {},
  more: Partial<Omit<ObservedObject, 'key' | 'metadata'>> = {},
): ObservedObject {
  const key = keyFrom(text)
  return {
    key,
    uid: `uid of ${text}`,
    apiVersion: key.group === '' ? 'v1' : `${key.group}/v1`,
    metadata: { name: key.name, creationTimestamp: '2026-02-01T00:00:00Z', ...metadata },
    ...more,
  }
}

export function keyFrom(text: string): Key {
  const [what = '', where = ''] = text.split(' ')
  const [kind = '', ...group] = what.split('.')
  const [name = '', namespace = ''] = where.split('/').reverse()
  return { group: group.join('.'), kind, namespace, name }
}

export function fixturePolicy(
  more: Partial<Omit<Policy, 'deletion'>> & { readonly deletion?: Partial<DeletionPolicy> } = {},
): Policy {
  return {
    name: 'shop',
    namespaces: ['shop'],
    mode: 'total',
    adoption: 'ifUnowned',
    adoptFrom: [],
    clusterKinds: [],
    ignore: [],
    conflicts: 'fail',
    ...more,
    deletion: { ...carefulDeletion, ...more.deletion },
  }
}

export function fixtureWorld(
  objects: readonly ObservedObject[],
  more: Partial<PruneWorld> & { readonly policy?: Policy } = {},
): PruneWorld {
  return { objects, declared: new Set(), policy: fixturePolicy(), setId, nowMs, ...more }
}
