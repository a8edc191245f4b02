import type { Credential, Credentials, TextSource } from './config.ts'
import { Secret } from './secret.ts'

/** Nobody in particular: for servers that allow it, and for tests. */
export const anonymous: Credentials = { current: async () => ({}), refresh: () => false }

/** The same answer for ever. */
export function fixedCredential(credential: Credential): Credentials {
  return { current: async () => credential, refresh: () => false }
}

/** A bearer token in a file that rotates. */
export function tokenFile(source: TextSource): Credentials {
  let last: { readonly text: string; readonly credential: Credential } | undefined
  return {
    current: async () => {
      const text = await source.read()
      if (last?.text !== text) last = { text, credential: { token: new Secret(text.trim()) } }
      return last.credential
    },
    refresh: () => {
      source.expire()
      return true
    },
  }
}

/** A client certificate and its key; both may be files that rotate, even the same file. */
export function certificatePair(cert: TextSource, key: TextSource): Credentials {
  let last: { readonly cert: string; readonly key: string; readonly credential: Credential } | undefined
  return {
    current: async () => {
      const [certText, keyText] = [await cert.read(), await key.read()]
      if (last?.cert !== certText || last.key !== keyText) {
        const credential = { certificate: { cert: certText, key: new Secret(keyText) } }
        last = { cert: certText, key: keyText, credential }
      }
      return last.credential
    },
    refresh: () => {
      cert.expire()
      key.expire()
      return true
    },
  }
}

/** Several at once: a certificate for the connection and a token for the request. The first to offer a part gives it. */
export function combined(parts: readonly Credentials[]): Credentials {
  const [only] = parts
  if (only && parts.length === 1) return only
  return {
    current: async (signal) => {
      let all: Credential = {}
      for (const part of parts) all = { ...(await part.current(signal)), ...all }
      return all
    },
    refresh: (refused) => parts.map((part) => part.refresh(refused)).includes(true),
  }
}
