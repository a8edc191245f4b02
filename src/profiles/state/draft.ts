import type { NodeObject } from '../../kube/index.ts'
import type { NodeDraft } from '../plugin.ts'

export function draftOf(node: NodeObject): NodeDraft {
  const { metadata, spec } = node
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    labels: { ...metadata.labels },
    annotations: { ...metadata.annotations },
    finalizers: [...(metadata.finalizers ?? [])],
    isUnschedulable: spec?.unschedulable === true,
    stored: node,
  }
}

/** Puts the draft back to how it was when `remember` was called. */
export function remember(draft: NodeDraft): () => void {
  const labels = { ...draft.labels }
  const annotations = { ...draft.annotations }
  const finalizers = [...draft.finalizers]
  const { isUnschedulable } = draft
  return () => {
    replace(draft.labels, labels)
    replace(draft.annotations, annotations)
    draft.finalizers = finalizers
    draft.isUnschedulable = isUnschedulable
  }
}

function replace(target: Record<string, string>, by: Readonly<Record<string, string>>): void {
  for (const key of Object.keys(target)) delete target[key]
  Object.assign(target, by)
}

/** A merge patch of what changed, which holds only if the node is still the one that was read; nothing if nothing did. */
export function patchOf(draft: NodeDraft): object | undefined {
  const { metadata, spec } = draft.stored
  const labels = changes(metadata.labels ?? {}, draft.labels)
  const annotations = changes(metadata.annotations ?? {}, draft.annotations)
  const { finalizers: stored = [], deletionTimestamp } = metadata
  // While a node is deleted the API server takes no new ones, and would refuse everything else with them.
  const finalizers = draft.finalizers.filter((one) => deletionTimestamp === undefined || stored.includes(one))
  const hasFinalizers = JSON.stringify(stored) !== JSON.stringify(finalizers)
  const hasCordon = (spec?.unschedulable === true) !== draft.isUnschedulable
  if (!(labels || annotations || hasFinalizers || hasCordon)) return undefined
  return {
    metadata: {
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
      ...(hasFinalizers ? { finalizers } : {}),
    },
    // Null removes the field, which is how the API server itself stores a schedulable node.
    ...(hasCordon ? { spec: { unschedulable: draft.isUnschedulable ? true : null } } : {}),
  }
}

function changes(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Record<string, string | null> | undefined {
  const set = Object.entries(after).filter(([key, value]) => before[key] !== value)
  const gone = Object.keys(before).flatMap((key): [string, null][] => (Object.hasOwn(after, key) ? [] : [[key, null]]))
  return set.length + gone.length === 0 ? undefined : Object.fromEntries([...set, ...gone])
}
