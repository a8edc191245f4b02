import type { SeenFile } from '../host/index.ts'
import type { Permission } from './permission.ts'

/** Everything that one look at the machine shows. */
export interface HostView {
  /** The file by which scripts ask for maintenance. */
  readonly request: SeenFile
  /** The file that lets them work; without content, somebody else made it. */
  readonly permission:
    | { readonly is: 'Absent' }
    | { readonly is: 'Present'; readonly content?: Permission }
    | { readonly is: 'Unreadable'; readonly why: string }
  /** Scripts that ask through `fettle host`. */
  readonly scripts: readonly ScriptRequest[]
  /** Whether nobody else made the file that asks: then no script is at work that cannot ask for more. */
  readonly onlyScriptsAsk: boolean
  readonly reboot: RebootReason
  /** As the host's first process sees it. */
  readonly bootID: string
  /** The highest token that this machine ever obeyed; 0 when it knows of none. */
  readonly highestToken: number
  /** Whether it was told to leave this boot: then it may go down at any moment. */
  readonly isToldToReboot: boolean
  /** How often it was told to reboot within the last day. */
  readonly rebootsLastDay: number
  /** Why what the machine stored cannot be read. */
  readonly stateProblem?: string
}

export interface ScriptRequest {
  readonly name: string
  readonly reason: string
  /** Why it failed, in its own words. */
  readonly failed?: string
  /** The boot that it wants to end. */
  readonly rebootFrom?: string
}

/** Whether the machine needs a reboot, and why. */
export type RebootReason =
  | { readonly is: 'Absent' }
  | {
      readonly is: 'Present'
      /** Which need it is: the same one is not asked for twice. */
      readonly id: string
      /** What found it: the path of a file, `kernel`, `check`. */
      readonly key: string
      readonly reason: string
    }
  | { readonly is: 'Unreadable'; readonly why: string }

/** What could not be seen, for whoever asks how the agent is. */
export function unreadableParts({ request, permission, reboot, stateProblem }: HostView): string[] {
  const parts = [request, permission, reboot].flatMap((part) => (part.is === 'Unreadable' ? [part.why] : []))
  return stateProblem === undefined ? parts : [...parts, stateProblem]
}
