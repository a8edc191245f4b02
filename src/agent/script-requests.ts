import type { ScriptRequest } from './host-view.ts'

const nameForm = /^[a-z0-9][a-z0-9.-]{0,62}$/

/** One file in the folder of requests; undefined for what is none. */
export function readScriptRequest(name: string, text: string): ScriptRequest | undefined {
  if (!nameForm.test(name)) return undefined
  const fields = new Map(
    text.split('\n').flatMap((line) => {
      const [, key, value] = /^([a-z-]+)=(.*)$/.exec(line) ?? []
      return key !== undefined && value !== undefined ? [[key, value.slice(0, 512)] as const] : []
    }),
  )
  const [failed, rebootFrom] = [fields.get('failed'), fields.get('reboot-from')]
  return {
    name,
    reason: fields.get('reason') ?? '',
    ...(failed === undefined ? {} : { failed }),
    ...(rebootFrom === undefined ? {} : { rebootFrom }),
  }
}
