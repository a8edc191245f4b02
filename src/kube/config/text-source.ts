import { readFile } from 'node:fs/promises'
import type { Clock } from '../../time/index.ts'
import { ConfigError } from '../errors.ts'
import type { TextSource } from './config.ts'

export const inlineText = (text: string): TextSource => ({ read: async () => text, expire: () => undefined })

// The kubelet replaces projected files without notice; a token is valid for minutes after that, so seconds are soon enough.
const freshMs = 5_000

/** A file that somebody else rotates. While it cannot be read, the last good content stays in use. */
export function rotatingFile(file: string, what: string, clock: Clock): TextSource {
  let known: { readonly text: string; readonly at: number } | undefined
  let isExpired = false
  return {
    read: async () => {
      if (known && !isExpired && clock.monotonic() - known.at < freshMs) return known.text
      try {
        const text = await readFile(file, 'utf8')
        if (text.trim() === '') throw new Error('the file is empty')
        // Keeps the identity of an unchanged text, so that nobody sees a rotation where there was none.
        known = { text: text === known?.text ? known.text : text, at: clock.monotonic() }
        isExpired = false
      } catch (cause) {
        if (!known) {
          const seen = cause instanceof Error ? cause.message : String(cause)
          throw new ConfigError('CredentialUnreadable', `cannot read the ${what}: ${seen}`, { file, cause })
        }
        known = { text: known.text, at: clock.monotonic() }
      }
      return known.text
    },
    expire: () => {
      isExpired = true
    },
  }
}
