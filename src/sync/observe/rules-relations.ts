import type { OwnerReference } from '../../kube/index.ts'
import { keyId, keyText } from '../key.ts'
import type { ObservedObject } from '../observed.ts'
import { type ProtectionRule, when } from './protection-rule.ts'
import { isUnknown, mayLive, type PruneWorld, statefulSetsIn, withUid } from './prune-world.ts'

const certificateNames = ['cert-manager.io/certificate-name', 'certmanager.k8s.io/certificate-name'] as const

/** What other objects, or other programs, have to do with it. */
export const relationRules: readonly ProtectionRule[] = [
  {
    rule: 'revisions',
    why: ({ key, metadata }) => {
      if (key.group === 'apps' && key.kind === 'ControllerRevision') return 'a controller keeps its history in it'
      const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
      const isMade = keyIs(key, 'apps', 'ReplicaSet') || keyIs(key, '', 'Pod')
      return isMade && owner ? `${owner.kind} ${owner.name} controls it` : undefined
    },
  },
  {
    rule: 'owned',
    why: ({ metadata }, world) => {
      const [owner] = metadata.ownerReferences ?? []
      return owner && ownershipText(owner, world)
    },
  },
  {
    // One object under two groups: deleting the one would delete the other.
    rule: 'alias',
    why: (object, world) => {
      const copies = withUid(world, object.uid)
      const declared = copies.find(({ key }) => keyId(key) !== keyId(object.key) && world.declared.has(keyId(key)))
      return declared && `it is the same object as ${keyText(declared.key)}, which is declared`
    },
  },
  {
    rule: 'cert-secret',
    why: ({ key, metadata }, world) => {
      if (!keyIs(key, '', 'Secret')) return undefined
      const name = certificateNames.map((mark) => metadata.annotations?.[mark]).find((one) => one !== undefined)
      if (name === undefined) return undefined
      const certificate = { group: 'cert-manager.io', kind: 'Certificate', namespace: key.namespace, name }
      return when(mayLive(world, certificate), `it holds what was issued for Certificate ${name}`)
    },
  },
  {
    rule: 'sts-pvc',
    why: ({ key }, world) => {
      if (!keyIs(key, '', 'PersistentVolumeClaim')) return undefined
      const owner = statefulSetOf(key, world)
      if (owner !== undefined) return `it holds the data of StatefulSet ${owner}`
      return when(
        /.-.+-\d+$/.test(key.name) && isUnknown(world, 'apps', 'StatefulSet'),
        'it may hold the data of a StatefulSet, and those could not be listed',
      )
    },
  },
]

function keyIs(key: ObservedObject['key'], group: string, kind: string): boolean {
  return key.group === group && key.kind === kind
}

// A chain of owners has two or three links; a ring of them would have no end.
const mostOwners = 8

/** Names the owners up to the root, as far as they are seen: the root decides about them all. */
function ownershipText(owner: OwnerReference, world: PruneWorld): string {
  const names: string[] = []
  let next: OwnerReference | undefined = owner
  while (next && names.length < mostOwners) {
    names.push(`${next.kind} ${next.name}`)
    const [object]: readonly ObservedObject[] = withUid(world, next.uid)
    next = object?.metadata.ownerReferences?.[0]
  }
  const isSeen = withUid(world, owner.uid).length > 0
  const chain = names.join(', which belongs to ')
  return isSeen ? `it belongs to ${chain}` : `it belongs to ${chain}, which is not seen here; the cluster collects it`
}

function statefulSetOf({ namespace, name }: ObservedObject['key'], world: PruneWorld): string | undefined {
  // Without the whole object the names of its claim templates are not known: any of them will do.
  const ordinal = /-\d+$/.exec(name)
  if (!ordinal) return undefined
  const rest = name.slice(0, ordinal.index)
  return statefulSetsIn(world, namespace).find((set) => rest.endsWith(`-${set}`) && rest.length > set.length + 1)
}
