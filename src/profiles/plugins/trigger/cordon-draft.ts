import { createHash } from 'node:crypto'
import { cordonOwners, cordonPatch, isLabelKey, type NodePatch, restorePatch } from '../../../drain/index.ts'
import type { NodeObject } from '../../../kube/index.ts'
import type { NodeDraft } from '../../plugin.ts'

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
  return `profile-${createHash('sha256').update(cordonOwner).digest('hex').slice(0, 16)}`
}
