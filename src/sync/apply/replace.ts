import { isNotFound, type KubeClient, type KubeObject, type Resource, waitUntilGone } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import type { DeclaredObject } from '../declared.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { ObservedObject } from '../observed.ts'
import { hasDependants } from '../prune/dependants.ts'
import { applyRulesOf, type ReplaceMode } from './annotations.ts'
import { type Applied, type ApplyObjectOptions, applyObject } from './apply-object.ts'
import { onlyNew } from './draft.ts'
import { ApplyFault, faultOf } from './fault.ts'
import { type FieldPath, valueAt, without } from './field-path.ts'
import { referenceOf } from './projection.ts'

export interface ReplaceRule {
  /** `auto`: when the server refuses a change. `always`: instead of any change. */
  readonly when: ReplaceMode
  readonly propagation: 'Background' | 'Foreground' | 'Orphan'
}

export interface ReplaceOptions extends ApplyObjectOptions {
  readonly clock: Clock
  readonly random: () => number
  /** For the old one to be gone. */
  readonly deadlineMs: number
  readonly onProgress?: (missing: string) => void
}

/** Whether an object may be deleted and made anew. What holds data, or other objects, only if its manifest says so. */
export function replaceRuleOf({ key, body }: Pick<DeclaredObject, 'key' | 'body'>): ReplaceRule {
  const kind = key.group === '' ? key.kind : `${key.kind}.${key.group}`
  const isCheap = kind === 'Job.batch' || kind === 'Pod' || kind === 'StatefulSet.apps'
  return {
    when: applyRulesOf(body).replace ?? (isCheap ? 'auto' : 'never'),
    // Pods and claims of a StatefulSet stay, and the new one takes them over; of others, none of the old meets the new.
    propagation: kind === 'StatefulSet.apps' ? 'Orphan' : hasDependants(key) ? 'Foreground' : 'Background',
  }
}

/**
 * Deletes the object and makes it anew, for changes that the server refuses. If the new one cannot be made, the old one
 * is made again from a copy, and the fault says so. A crash in between is harmless: then it is absent, and the next run
 * makes it.
 */
export async function replaceObject(
  client: KubeClient,
  resource: Resource,
  step: { readonly declared: DeclaredObject; readonly live: ObservedObject },
  options: ReplaceOptions,
): Promise<Applied> {
  const { declared, live } = step
  const { when, propagation } = replaceRuleOf(declared)
  if (when === 'never') {
    const what = 'it can only be changed by deleting it and making it anew; annotate it with fettle.dev/replace: auto'
    throw new ApplyFault(declared, { code: 'Immutable', isPermanent: true, what })
  }
  try {
    const old = await copyOf(client, resource, step, options.signal)
    const fresh = old === undefined ? declared : withKeptAddress(declared, old)
    await remove(client, resource, { declared, uid: live.uid }, { ...options, propagation })
    const applied = await remake(client, resource, fresh, old, options)
    const { manager, hashKey } = options
    return { ...applied, reference: referenceOf(applied.object, declared.body, manager, hashKey) }
  } catch (error) {
    throw faultOf(error, declared)
  }
}

async function copyOf(
  client: KubeClient,
  resource: Resource,
  { declared, live }: { readonly declared: DeclaredObject; readonly live: ObservedObject },
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  try {
    const old = await client.get<KubeObject>(resource, refOf(declared), { signal })
    if (old.metadata.uid === live.uid) return old as unknown as JsonObject
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  throw new ApplyFault(declared, {
    code: 'Stale',
    isPermanent: false,
    what: 'another object has its name by now; look again',
  })
}

async function remove(
  client: KubeClient,
  resource: Resource,
  { declared, uid }: { readonly declared: DeclaredObject; readonly uid: string },
  options: ReplaceOptions & { readonly propagation: ReplaceRule['propagation'] },
): Promise<void> {
  const { signal, propagation: propagationPolicy } = options
  try {
    await client.delete(resource, refOf(declared), { uid, propagationPolicy, signal })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const result = await waitUntilGone(client, resource, refOf(declared), { ...options, uid })
  if (result.outcome === 'gone') return
  const what = `it has to be made anew, and the old one is still there: ${result.reason}`
  throw new ApplyFault(declared, { code: 'Not gone', isPermanent: false, what })
}

async function remake(
  client: KubeClient,
  resource: Resource,
  declared: DeclaredObject,
  old: JsonObject | undefined,
  options: ReplaceOptions,
): Promise<Applied> {
  try {
    return await applyObject(client, resource, { declared, isAdopted: false }, options)
  } catch (error) {
    // Without an answer nobody knows what is there; the next run looks, and makes what is missing. If somebody else was
    // quicker, there is one.
    if (!(error instanceof ApplyFault) || old === undefined || ['Unavailable', 'Stale'].includes(error.code))
      throw error
    const { manager: fieldManager, signal } = options
    const outcome = await client
      .apply(resource, onlyNew(restorable(old)) as unknown as KubeObject, { fieldManager, signal })
      .then(
        () => 'The old one was made again from a copy',
        (reason: unknown) => {
          const fault = faultOf(reason, declared)
          return `The old one is gone, and could not be made again: ${fault instanceof ApplyFault ? fault.what : 'the run was ended'}`
        },
      )
    const { code, isPermanent, fields, kubeCode } = error
    const what = `the new one could not be made: ${error.what}. ${outcome}`
    throw new ApplyFault(declared, { code, isPermanent, fields, kubeCode, what, cause: error })
  }
}

function refOf({ key: { name, namespace } }: DeclaredObject) {
  return namespace === '' ? { name } : { name, namespace }
}

/** A Service keeps its address, unless git says which one it has. */
function withKeptAddress(declared: DeclaredObject, old: JsonObject): DeclaredObject {
  const { key, body } = declared
  const address = valueAt(old, ['f:spec', 'f:clusterIP'])
  const spec = isObject(body['spec']) ? body['spec'] : {}
  const isKept = key.group === '' && key.kind === 'Service' && spec['clusterIP'] === undefined
  const isAddress = typeof address === 'string' && address !== '' && address !== 'None'
  if (!isKept || !isAddress || spec['type'] === 'ExternalName') return declared
  return { ...declared, body: { ...body, spec: { ...spec, clusterIP: address } } }
}

const serverMade: readonly FieldPath[] = [
  ['f:status'],
  ['f:metadata', 'f:uid'],
  ['f:metadata', 'f:resourceVersion'],
  ['f:metadata', 'f:generation'],
  ['f:metadata', 'f:creationTimestamp'],
  ['f:metadata', 'f:deletionTimestamp'],
  ['f:metadata', 'f:deletionGracePeriodSeconds'],
  ['f:metadata', 'f:managedFields'],
  ['f:metadata', 'f:selfLink'],
]

const templateLabels: FieldPath = ['f:spec', 'f:template', 'f:metadata', 'f:labels']
/** A Job finds its pods by its own UID, which the copy will not have. */
const jobMade: readonly FieldPath[] = [
  ['f:spec', 'f:selector'],
  ['f:metadata', 'f:labels', 'f:controller-uid'],
  ['f:metadata', 'f:labels', 'f:batch.kubernetes.io/controller-uid'],
  [...templateLabels, 'f:controller-uid'],
  [...templateLabels, 'f:batch.kubernetes.io/controller-uid'],
]

/** A live object as a manifest that can be made again. */
export function restorable(live: JsonObject): JsonObject {
  const isJob = live['kind'] === 'Job' && valueAt(live, ['f:spec', 'f:manualSelector']) !== true
  const isPod = live['kind'] === 'Pod'
  const paths = [...serverMade, ...(isJob ? jobMade : []), ...(isPod ? [['f:spec', 'f:nodeName']] : [])]
  return paths.reduce<JsonObject>((rest, path) => without(rest, path) as JsonObject, live)
}
