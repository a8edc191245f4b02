import type { KubeClient, KubeObject } from '../kube/index.ts'
import { removedByAdoption } from './apply/adopted-fields.ts'
import { faultOf } from './apply/fault.ts'
import { without } from './apply/field-path.ts'
import { liveObject } from './apply/projection.ts'
import type { DeclaredObject } from './declared.ts'
import { type FieldChange, fieldChanges } from './diff.ts'
import { partOfLabel } from './inventory/apply-set.ts'
import type { JsonObject } from './json.ts'
import { keyId } from './key.ts'
import type { ObservedObject } from './observed.ts'
import type { ApplyStep } from './plan/steps.ts'
import { managerOf, type Policy } from './policy.ts'
import { type Survey, type SyncSettings, servedAs } from './survey.ts'

/** What the server itself would store, next to what it has. */
export async function dryRunChanges(
  { client, settings }: { readonly client: KubeClient; readonly settings: SyncSettings },
  { catalog, observed, memory }: Survey,
  step: ApplyStep,
  signal: AbortSignal,
): Promise<readonly FieldChange[]> {
  const { key, declared } = step
  const resource = servedAs(catalog, declared.apiVersion, key.kind)
  const seen = observed.objects.find((object) => keyId(object.key) === keyId(key))
  const live = seen?.body
  // Of a kind that is still to come the server cannot say anything.
  if (!resource) return fieldChanges(live, declared.body)
  const options = { fieldManager: managerOf(settings.policy.name), force: true, dryRun: true, signal }
  try {
    const next = await client.apply<KubeObject>(resource, labelled(declared.body, memory.setId), options)
    const adopted = step.do === 'adopt' ? seen : undefined
    return fieldChanges(live, withoutRemoved(next as unknown as JsonObject, declared, adopted, settings.policy))
  } catch (error) {
    // The server repeats values in its refusals.
    throw faultOf(error, declared)
  }
}

/** The server is not told beforehand that an adoption makes fields of others ours, so it would keep them. */
function withoutRemoved(
  next: JsonObject,
  { body, apiVersion }: DeclaredObject,
  adopted: ObservedObject | undefined,
  { name, adoptFrom }: Policy,
): JsonObject {
  if (adopted?.body === undefined) return next
  const rules = { manager: managerOf(name), adoptFrom, apiVersion }
  const paths = removedByAdoption(liveObject(adopted), body, rules)
  return paths.reduce<JsonObject>((rest, path) => without(rest, path) as JsonObject, next)
}

function labelled(body: JsonObject, setId: string): KubeObject {
  const object = body as unknown as KubeObject
  const labels = { ...object.metadata.labels, [partOfLabel]: setId }
  return { ...object, metadata: { ...object.metadata, labels } }
}
