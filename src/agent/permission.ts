/** What the permission file says. Scripts only look whether it is there; we tell by it a live grant from a leftover. */
export interface Permission {
  /** Name and UID of the request that was granted. */
  readonly request: string
  readonly requestUID: string
  readonly nodeUID: string
  /** Fencing number of the slot. */
  readonly token: number
  /** The boot in which it was written; another one means that the host has rebooted since. */
  readonly bootID: string
  readonly grantedAt: string
}

export function permissionText(permission: Permission): string {
  return `${JSON.stringify(permission)}\n`
}

/** Undefined for a file that somebody else made: empty, or in words of their own. */
export function readPermission(text: string): Permission | undefined {
  try {
    const { request, requestUID, nodeUID, token, bootID, grantedAt } = (JSON.parse(text) ?? {}) as Partial<
      Record<keyof Permission, unknown>
    >
    if (typeof request !== 'string' || typeof requestUID !== 'string' || typeof nodeUID !== 'string') return undefined
    if (typeof bootID !== 'string' || typeof grantedAt !== 'string' || !Number.isSafeInteger(token)) return undefined
    return { request, requestUID, nodeUID, token: Number(token), bootID, grantedAt }
  } catch {
    return undefined
  }
}
