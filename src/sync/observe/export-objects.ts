import { isObject, type Json, type JsonObject } from '../json.ts'
import { kindCleaners, withoutKeys } from './export-kinds.ts'
import { foreignMarks } from './foreign.ts'
import { textAt } from './json-parts.ts'

const serverMade = [
  'uid',
  'resourceVersion',
  'generation',
  'generateName',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'ownerReferences',
  'finalizers',
  'selfLink',
] as const

const machineMarks = new Set([
  ...foreignMarks,
  'kubectl.kubernetes.io/last-applied-configuration',
  'control-plane.alpha.kubernetes.io/leader',
  'deployment.kubernetes.io/revision',
  'deprecated.daemonset.template.generation',
  'batch.kubernetes.io/job-tracking',
  'kubernetes.io/metadata.name',
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/selected-node',
  'volume.kubernetes.io/storage-provisioner',
  'endpoints.kubernetes.io/last-change-trigger-time',
])

/** A live object as a manifest to commit: without what only the server and controllers write. */
export function exportManifest(body: JsonObject): JsonObject {
  const { apiVersion = '', kind = '', metadata, status: _, ...rest } = body
  const clean = kindCleaners[`${textAt(body, 'apiVersion')} ${textAt(body, 'kind')}`]
  const meta = isObject(metadata) ? metadata : {}
  return {
    apiVersion,
    kind,
    metadata: exportMetadata(meta),
    ...((clean ? clean(rest, { name: textAt(meta, 'name') ?? '', metadata: meta }) : rest) satisfies JsonObject),
  }
}

function exportMetadata(metadata: JsonObject): JsonObject {
  const { name, namespace, labels, annotations, ...rest } = withoutKeys(metadata, serverMade)
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...withoutMarks('labels', labels),
    ...withoutMarks('annotations', annotations),
    ...rest,
  }
}

function withoutMarks(name: 'labels' | 'annotations', marks: Json | undefined): JsonObject {
  if (!isObject(marks)) return {}
  const kept = Object.entries(marks).filter(([mark]) => !machineMarks.has(mark))
  return kept.length === 0 ? {} : { [name]: Object.fromEntries(kept) }
}
