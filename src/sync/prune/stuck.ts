import type { KubeObject, ObjectMeta, Resource } from '../../kube/index.ts'
import { isObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'

/** Why an object that was deleted is still there. */
export interface Stuck {
  readonly why: string
  readonly finalizers: readonly string[]
}

type Held = KubeObject & { readonly metadata: ObjectMeta & { readonly managedFields?: readonly ManagedFieldsEntry[] } }

/** Says who holds the object, and how a person could end that. Fettle never does: a finalizer stands for work undone. */
export function explainStuck(object: Held, resource: Resource, dependants: readonly string[]): Stuck {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined) {
    return {
      why: 'the server took the deletion, and yet it is not being deleted; a webhook may have undone it',
      finalizers,
    }
  }
  const since = `is being deleted since ${deletionTimestamp}`
  if (finalizers.length === 0) {
    const grace = deletionGracePeriodSeconds > 0 ? ` with ${deletionGracePeriodSeconds} s of grace` : ''
    const remaining = contentOf(object)
    return { why: `${since}${grace}; no finalizer holds it${remaining === '' ? '' : `: ${remaining}`}`, finalizers }
  }
  const holders = finalizers.map((name) => {
    const managers = managersOf(object, name)
    return managers.length === 0 ? name : `${name} (set by ${managers.join(', ')})`
  })
  const blocking = dependants.length === 0 ? '' : `; these have to go first: ${dependants.join(', ')}`
  return {
    why: `${since}; finalizers hold it: ${holders.join(', ')}${blocking}. If whoever should remove them never will: ${commandFor(object, resource)}`,
    finalizers,
  }
}

/** The field managers that own a finalizer: most likely the programs that are to remove it. */
export function managersOf({ metadata }: Held, finalizer: string): readonly string[] {
  const owners = (metadata.managedFields ?? []).filter(({ fieldsV1 }) => {
    const meta = fieldsV1?.['f:metadata']
    const list = isObject(meta) ? meta['f:finalizers'] : undefined
    return isObject(list) && `v:${JSON.stringify(finalizer)}` in list
  })
  return [...new Set(owners.flatMap(({ manager }) => manager ?? []))]
}

/** Names the one object by its UID: another one of the same name is never meant. */
function commandFor({ metadata }: Held, { group, plural, namespaced }: Resource): string {
  const patch = [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'remove', path: '/metadata/finalizers' },
  ]
  const place = namespaced ? ` -n ${metadata.namespace}` : ''
  const kind = group === '' ? plural : `${plural}.${group}`
  return `kubectl${place} patch ${kind} ${metadata.name} --type=json -p '${JSON.stringify(patch)}'`
}

/** A Namespace says in its conditions what is left in it. */
function contentOf(object: KubeObject): string {
  const status = (object as { readonly status?: { readonly conditions?: readonly NamespaceCondition[] } }).status
  return (status?.conditions ?? [])
    .filter((one) => one.status === 'True' && one.type?.startsWith('Namespace') && one.message !== undefined)
    .map((one) => one.message)
    .join('; ')
}

interface NamespaceCondition {
  readonly type?: string
  readonly status?: string
  readonly message?: string
}
