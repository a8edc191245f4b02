import type { HostView } from './host-view.ts'
import type { Permission } from './permission.ts'

/** What an agent does to its machine. Everything else it leaves to the controller. */
export interface AgentHost {
  look(): Promise<HostView>
  writePermission(permission: Permission): Promise<void>
  deletePermission(): Promise<void>
  /** Kept before the token is obeyed, so that an older one never is after it. */
  storeHighestToken(token: number): Promise<void>
  /** Resolves when the order was given; the machine goes down some time later, or not. */
  reboot(): Promise<void>
  /** Calls when something may have changed. */
  watch(onChange: () => void, signal: AbortSignal): void
}
