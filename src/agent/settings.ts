import type { HostMounts } from '../host/index.ts'

/** What an agent is told about its machine. Paths are the host's own. */
export interface HostSettings {
  /** Where the host's folders lie for this process. */
  readonly mounts: HostMounts
  readonly requestFile: string
  readonly permissionFile: string
  /** What must survive a reboot: tokens, reboots, requests of scripts. */
  readonly stateFolder: string
  readonly bootIdFile: string
  readonly reboot: RebootSettings
}

export interface RebootSettings {
  readonly files: readonly string[]
  /** A command of the host, and what its exit codes mean; any other is an error. */
  readonly check?: { readonly command: string; readonly yes: readonly number[]; readonly no: readonly number[] }
  /** Whether a newer kernel is installed than the one that runs. */
  readonly kernel: boolean
  readonly method: 'command' | 'signal' | 'none'
  readonly command: string
  readonly signal: number
  readonly delayMs: number
}
