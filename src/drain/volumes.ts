import { type KubeClient, type KubeObject, resources } from '../kube/index.ts'
import type { DrainPlan } from './plan.ts'

interface VolumeAttachment extends KubeObject {
  readonly spec?: { readonly nodeName?: string; readonly source?: { readonly persistentVolumeName?: string } }
  readonly status?: { readonly attached?: boolean }
}

/** The volumes that are attached to a node, live: a pod is gone before its volumes are. */
export async function volumesOn(
  client: Pick<KubeClient, 'list'>,
  nodeName: string,
  signal: AbortSignal,
): Promise<string[]> {
  const names: string[] = []
  // The API server cannot select attachments by node.
  for await (const { items } of client.list<VolumeAttachment>(resources.volumeAttachments, { signal }))
    for (const { metadata, spec, status } of items)
      if (spec?.nodeName === nodeName && status?.attached)
        names.push(spec.source?.persistentVolumeName ?? metadata.name ?? '')
  return names
}

/** A sentence while more volumes are attached than the pods that stay can be using. */
export function volumesToWaitFor({ fates }: Pick<DrainPlan, 'fates'>, attached: readonly string[]): string | undefined {
  const used = fates
    .filter(({ fate }) => fate === 'stay')
    .reduce((sum, { pod }) => sum + (pod.spec?.volumes ?? []).filter((one) => one.persistentVolumeClaim).length, 0)
  if (attached.length <= used) return undefined
  return `all pods have left, but volumes are still attached: ${attached.slice(0, 5).join(', ')}${attached.length > 5 ? ', …' : ''}`
}
