import { Secret } from './config/secret.ts'
import type { KubeClient } from './door.ts'
import { isNotFound } from './errors.ts'
import type { KubeObject } from './resource.ts'
import { secrets } from './resources.ts'

/** The value of a key in one Secret, or a sentence why there is none. */
export type ReadSecretKey = (key: string, signal: AbortSignal) => Promise<Secret | string>

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** Reads it each time: what was replaced is in use from then on. */
export function secretKeys(
  client: Pick<KubeClient, 'get'>,
  ref: { readonly namespace: string; readonly name: string },
): ReadSecretKey {
  return async (key, signal) => {
    const where = `Secret ${ref.namespace}/${ref.name}`
    try {
      const { data } = await client.get<SecretObject>(secrets, ref, { signal })
      const value = Buffer.from(data?.[key] ?? '', 'base64')
        .toString('utf8')
        .trim()
      return value === '' ? `${where} has no key ${key}` : new Secret(value)
    } catch (error) {
      signal.throwIfAborted()
      return isNotFound(error) ? `${where} does not exist` : `${where} cannot be read`
    }
  }
}
