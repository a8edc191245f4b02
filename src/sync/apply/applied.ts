import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonObject } from '../json.ts'
import type { Applied, ApplyObjectOptions, ApplyObjectStep } from './apply-object.ts'
import { holderText } from './changed-fields.ts'
import type { Draft } from './draft.ts'
import { pathText, valueAt } from './field-path.ts'
import { entriesOf, isOwnEntry, leavesOf } from './field-set.ts'
import { liveObject, referenceOf } from './projection.ts'
import { isSameMeaning } from './same-meaning.ts'

/** What the answer of the server says. */
export function appliedOf(
  answer: JsonObject,
  draft: Draft,
  { declared, live }: ApplyObjectStep,
  { manager, hashKey }: ApplyObjectOptions,
): Applied {
  const { uid, resourceVersion } = idOf(answer)
  const wasThere = live?.uid === uid
  const reference = referenceOf(answer, declared.body, manager, hashKey)
  const before = () => (live?.body ? referenceOf(liveObject(live), declared.body, manager, hashKey) : undefined)
  // Its controller may have written in the meantime; then the fields that are ours tell.
  const isSame = () => live?.metadata.resourceVersion === resourceVersion || isDeepStrictEqual(before(), reference)
  return {
    outcome: !wasThere ? 'created' : isSame() ? 'unchanged' : 'changed',
    uid,
    resourceVersion,
    reference,
    object: answer,
    remarks: [...contestRemarks(draft), ...mutations(answer, draft.body, manager)],
  }
}

/** Of an object that is left as it is. */
export function untouched(live: JsonObject | undefined, why: string): Applied {
  const remarks = [`it is left as it is: ${why}`]
  return { outcome: 'unchanged', ...idOf(live ?? {}), reference: undefined, object: live ?? {}, remarks }
}

function contestRemarks({ contests, isForced }: Draft): readonly string[] {
  return contests.flatMap(({ path, holder, verdict }) => {
    if (verdict === 'yield') return [`${pathText(path)} is left to ${holderText(holder)}`]
    return isForced ? [`${pathText(path)} was taken from ${holderText(holder)}`] : []
  })
}

/** Ours, and yet not what we sent. Applying again would not help: the same rule would change it again. */
function mutations(answer: JsonObject, body: JsonObject, manager: string): readonly string[] {
  const fields = entriesOf(answer).find((entry) => isOwnEntry(entry, manager))?.fieldsV1 ?? {}
  return [...leavesOf(fields)].flatMap((path) => {
    const sent = valueAt(body, path)
    const isKept = sent === undefined || isSameMeaning(sent, valueAt(answer, path))
    return isKept ? [] : [`${pathText(path)} was stored with another value than git says: admission changed it`]
  })
}

function idOf(answer: JsonObject): { readonly uid: string; readonly resourceVersion: string } {
  const { uid, resourceVersion } = isObject(answer['metadata']) ? answer['metadata'] : {}
  return {
    uid: typeof uid === 'string' ? uid : '',
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
  }
}
