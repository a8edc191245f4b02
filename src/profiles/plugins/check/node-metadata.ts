import type { NodeObject } from '../../../kube/index.ts'
import { profileLabel, profileSeparator } from '../../names.ts'

type Texts = Readonly<Record<string, string>>

/** Of labels or annotations. Nothing inherited: `constructor` is a legal key, and usually absent. */
export function textAt(texts: Texts | undefined, key: string): string | undefined {
  return texts && Object.hasOwn(texts, key) ? texts[key] : undefined
}

/** No value asked for means that any will do. */
export function fits(texts: Texts | undefined, key: string, value: string): boolean {
  const found = textAt(texts, key)
  return found !== undefined && (value === '' || found === value)
}

/** Whether the label names the profile. A node without the label is in no profile by name, not even in `default`. */
export function namesProfile({ metadata }: NodeObject, profile: string): boolean {
  return (textAt(metadata.labels, profileLabel) ?? '').split(profileSeparator).includes(profile)
}

/** Why a key or value was not found, for `reason`. */
export function missing(what: string, texts: Texts, key: string, value: string): string {
  const found = textAt(texts, key)
  return found === undefined
    ? `the node has no ${what} ${key}`
    : `${what} ${key} is ${JSON.stringify(found)}, not ${JSON.stringify(value)}`
}
