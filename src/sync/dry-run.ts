import type { KubeClient, KubeObject } from '../kube/index.ts'
import { faultOf } from './apply/fault.ts'
import { type FieldChange, fieldChanges } from './diff.ts'
import { partOfLabel } from './inventory/apply-set.ts'
import type { JsonObject } from './json.ts'
import { keyId } from './key.ts'
import type { ApplyStep } from './plan/steps.ts'
import { managerOf } from './policy.ts'
import { type Survey, type SyncSettings, servedAs } from './survey.ts'

/** What the server itself would store, next to what it has. */
export async function dryRunChanges(
  { client, settings }: { readonly client: KubeClient; readonly settings: SyncSettings },
  { catalog, observed, memory }: Survey,
  { key, declared }: ApplyStep,
  signal: AbortSignal,
): Promise<readonly FieldChange[]> {
  const resource = servedAs(catalog, declared.apiVersion, key.kind)
  const live = observed.objects.find((object) => keyId(object.key) === keyId(key))?.body
  // Of a kind that is still to come the server cannot say anything.
  if (!resource) return fieldChanges(live, declared.body)
  const options = { fieldManager: managerOf(settings.policy.name), force: true, dryRun: true, signal }
  try {
    const next = await client.apply<KubeObject>(resource, labelled(declared.body, memory.setId), options)
    return fieldChanges(live, next as unknown as JsonObject)
  } catch (error) {
    // The server repeats values in its refusals.
    throw faultOf(error, declared)
  }
}

function labelled(body: JsonObject, setId: string): KubeObject {
  const object = body as unknown as KubeObject
  const labels = { ...object.metadata.labels, [partOfLabel]: setId }
  return { ...object, metadata: { ...object.metadata, labels } }
}
