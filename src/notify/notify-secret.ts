import { notifySecretName } from '../api/index.ts'
import { isNotFound, type KubeClient, type KubeObject, resources, Secret } from '../kube/index.ts'

/** The value of a key in the one Secret that notifications may use, or a sentence why there is none. */
export type ReadSecret = (key: string, signal: AbortSignal) => Promise<Secret | string>

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** Reads it each time: what was replaced is in use with the next message. */
export function notifySecret(client: Pick<KubeClient, 'get'>, namespace: string): ReadSecret {
  return async (key, signal) => {
    const where = `Secret ${namespace}/${notifySecretName}`
    try {
      const ref = { namespace, name: notifySecretName }
      const { data } = await client.get<SecretObject>(resources.secrets, ref, { signal })
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
