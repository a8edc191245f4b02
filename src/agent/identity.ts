/** Which node this agent speaks for. */
export interface AgentIdentity {
  readonly name: string
  readonly uid: string
}

/**
 * From the claims of its own token, which nobody but the API server could have written. They are read, not checked:
 * whoever forged them would be refused by the API server at the first request.
 */
export function identityOf(token: string): AgentIdentity {
  const remedy = 'the agent needs a token that is bound to a pod on its node, which Kubernetes 1.32 and newer give'
  const [, payload] = token.split('.')
  if (payload === undefined) throw new IdentityFault(`the service account token is not a JSON web token; ${remedy}`)
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
      readonly 'kubernetes.io'?: { readonly node?: { readonly name?: unknown; readonly uid?: unknown } }
    }
    const { name, uid } = claims['kubernetes.io']?.node ?? {}
    if (typeof name === 'string' && typeof uid === 'string' && name !== '' && uid !== '') return { name, uid }
  } catch {
    throw new IdentityFault(`the service account token cannot be read; ${remedy}`)
  }
  throw new IdentityFault(`the service account token names no node; ${remedy}`)
}

export class IdentityFault extends Error {
  readonly code = 'NoNodeIdentity'
}
