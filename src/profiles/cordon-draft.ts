import { createHash } from 'node:crypto'
import {
  cordonOwners,
  cordonPatch,
  forgetOwnerPatch,
  isLabelKey,
  type NodePatch,
  restorePatch,
} from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import type { NodeDraft } from './plugin.ts'

/** Cordons by the rules of owners, so that the queue and other profiles never undo each other. */
export function cordonDraft(draft: NodeDraft, cordonOwner: string, nowMs: number): void {
  // Nobody's request is behind it, and no slot.
  const claim = { request: '', token: 0, since: new Date(nowMs).toISOString() }
  apply(draft, cordonPatch(nodeOf(draft), ownerOf(cordonOwner), claim))
}

/** Ends at a node that takes pods, as in the original, whatever it was before; unless somebody else holds it. */
export function uncordonDraft(draft: NodeDraft, cordonOwner: string): void {
  apply(draft, restorePatch(nodeOf(draft), ownerOf(cordonOwner)))
  if (cordonOwners(nodeOf(draft)).length === 0) draft.isUnschedulable = false
}

/**
 * Notes of profiles that hold the cordon no longer go: the label names them no more, or somebody made the node take pods.
 * They would keep others from giving the node back. The node itself stays as it is.
 */
export function forgetCordons(draft: NodeDraft, profiles: Iterable<string>): void {
  const kept = draft.isUnschedulable ? new Set([...profiles].map((name) => ownerOf(profileOwner(name)))) : new Set()
  for (const owner of cordonOwners(nodeOf(draft)))
    if (isProfileOwner(owner) && !kept.has(owner)) apply(draft, forgetOwnerPatch(nodeOf(draft), owner))
}

const profilePrefix = 'profile-'

export function profileOwner(profile: string): string {
  return `${profilePrefix}${profile}`
}

/** Whether a profile holds the cordon under this name. */
export function isProfileOwner(owner: string): boolean {
  return owner.startsWith(profilePrefix)
}

/** The node as it will be stored. */
function nodeOf({ stored, annotations, labels, isUnschedulable }: NodeDraft): NodeObject {
  return {
    ...stored,
    metadata: { ...stored.metadata, annotations, labels },
    spec: { ...stored.spec, unschedulable: isUnschedulable },
  }
}

function apply(draft: NodeDraft, patch: NodePatch | undefined): void {
  for (const [key, value] of Object.entries(patch?.metadata.annotations ?? {}))
    if (value === null) delete draft.annotations[key]
    else draft.annotations[key] = value
  if (patch?.spec?.unschedulable !== undefined) draft.isUnschedulable = patch.spec.unschedulable === true
}

/** The owner becomes part of a key, which is shorter than what a profile may be called. */
function ownerOf(cordonOwner: string): string {
  if (isLabelKey(`cordon.fettle.dev/${cordonOwner}`)) return cordonOwner
  return `${profilePrefix}${createHash('sha256').update(cordonOwner).digest('hex').slice(0, 16)}`
}
