import { createHash } from 'node:crypto'
import { compareKeys, type Key, keyId } from '../key.ts'

/** One name for all that is declared, whatever files it is in. The text of an object is its canonical one. */
export function digestOf(objects: readonly { readonly key: Key; readonly text: string }[]): string {
  const hash = createHash('sha256')
  // No key has a line end, and no canonical text has one.
  for (const { key, text } of objects.toSorted((one, other) => compareKeys(one.key, other.key)))
    hash.update(`${keyId(key)}\n${text}\n`)
  return hash.digest('hex')
}
