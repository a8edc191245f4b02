import type { Secret } from './secret.ts'

/** One cluster as one identity, resolved and ready to connect. */
export interface ClusterConfig {
  /** `https://host:port`, possibly with a path in front of the API. */
  readonly server: string
  readonly tls: TlsSettings
  readonly credentials: Credentials
  readonly impersonate?: Impersonation
  /** Where commands go that name no namespace. */
  readonly namespace: string
  /** For messages: `context prod of /home/me/.kube/config`. */
  readonly source: string
}

export interface TlsSettings {
  /** PEM. Absent means the certificate authorities that Node trusts. */
  readonly ca?: TextSource
  readonly serverName?: string
  readonly insecureSkipVerify?: boolean
}

/** A text that may change while the program runs, such as a projected token file. */
export interface TextSource {
  read(): Promise<string>
  /** The next read goes to the origin. */
  expire(): void
}

export interface Credentials {
  current(signal?: AbortSignal): Promise<Credential>
  /** Called after a 401, with what was refused. Answers whether asking again can give something else. */
  refresh(refused?: Credential): boolean
}

export interface Credential {
  readonly token?: Secret
  readonly basic?: { readonly username: string; readonly password: Secret }
  /** PEM of the certificate chain and its key. */
  readonly certificate?: { readonly cert: string; readonly key: Secret }
}

export interface Impersonation {
  readonly user: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** The headers that carry an identity. The result holds secrets: it goes to the socket and nowhere else. */
export function identityHeaders(
  credential: Credential,
  impersonate: Impersonation | undefined,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  if (credential.token) headers['Authorization'] = `Bearer ${credential.token.reveal()}`
  else if (credential.basic) {
    const pair = `${credential.basic.username}:${credential.basic.password.reveal()}`
    headers['Authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`
  }
  if (!impersonate) return headers
  headers['Impersonate-User'] = impersonate.user
  if (impersonate.uid !== undefined) headers['Impersonate-Uid'] = impersonate.uid
  if (impersonate.groups && impersonate.groups.length > 0) headers['Impersonate-Group'] = [...impersonate.groups]
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`Impersonate-Extra-${encodeURIComponent(key)}`] = [...values]
  }
  return headers
}
