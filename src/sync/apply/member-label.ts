import { isObject, type JsonObject } from '../json.ts'

/** Says to which set an object belongs, in the words that kubectl knows. */
export const memberLabel = 'applyset.kubernetes.io/part-of'

/** The manifest with our label. Never in the template of a workload: that would restart it. */
export function withMemberLabel(body: JsonObject, setId: string): JsonObject {
  const metadata = isObject(body['metadata']) ? body['metadata'] : {}
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
  return { ...body, metadata: { ...metadata, labels: { ...labels, [memberLabel]: setId } } }
}
