import type { ForeignLock, MaintenanceBudgetSpec, MaintenanceWindowSpec } from '../../api/index.ts'
import { maintenanceBudget } from '../../api/index.ts'

/** One setting as somebody wrote it. */
export interface Seen {
  /** `--period`, `KURED_PERIOD` or `configuration.period`. */
  readonly as: string
  /** The flag that it means, such as `period`. */
  readonly flag: string
  readonly place: Place
  /** What it says; missing where only `heldBy` is known. */
  readonly text?: string
  /** The Secret or ConfigMap that its value comes from. */
  readonly heldBy?: string
  /** A chart passes nothing for it, so that the program's own default is in force. */
  readonly isUnset?: true
}

export interface Place {
  readonly file: string
  readonly line: number
}

export const outcomes = ['carried over', 'differs', 'not needed', 'refused'] as const
export type Outcome = (typeof outcomes)[number]

/** What became of one thing that was seen. */
export interface Finding {
  readonly setting: string
  /** Missing for what the program does by itself, without being told. */
  readonly place?: Place
  readonly outcome: Outcome
  readonly text: string
  /** It kept nodes in service, and nothing does so in its place: nothing may be claimed before a person has looked. */
  readonly stops?: true
}

type Subject = Pick<Seen, 'as' | 'place'>

const finding =
  (outcome: Outcome) =>
  ({ as, place }: Subject, text: string): Finding => ({ setting: as, place, outcome, text })

export const carried = finding('carried over')
export const differs = finding('differs')
export const notNeeded = finding('not needed')
export const refused = finding('refused')

export function stopped(subject: Subject, text: string): Finding {
  return { ...refused(subject, text), stops: true }
}

/** For a value that is not what its flag wants; the program itself would not start with it. */
export function unreadable(seen: Seen, wanted: string): Finding {
  return stopped(seen, `${quoted(seen.text ?? '')} is not ${wanted}`)
}

/** What was found wrong, and for all that hangs together with it that nothing came of it. */
export function failed(all: readonly Seen[], problems: readonly Finding[], consequence: string): Part {
  const isSaid = ({ as, place }: Seen) => problems.some((one) => one.setting === as && one.place === place)
  const text = `${consequence} because of ${problems[0]?.setting}; mend that`
  return { findings: [...problems, ...all.filter((seen) => !isSaid(seen)).map((seen) => stopped(seen, text))] }
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}

export function placeText({ file, line }: Place): string {
  return `${file}:${line}`
}

type Draft<T> = T extends object ? { readonly [K in keyof T]?: Draft<T[K]> } : T
export type BudgetDraft = Omit<Draft<MaintenanceBudgetSpec>, 'foreignLocks'> & {
  readonly foreignLocks?: readonly Partial<ForeignLock>[]
}

/** Values of Fettle's chart below `agent`. */
export interface AgentValues {
  readonly requestFile?: string
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly kuredMetric?: boolean
  readonly reboot?: {
    readonly files?: readonly string[]
    readonly check?: string
    readonly method?: 'command' | 'signal' | 'none'
    readonly command?: string
    readonly signal?: number
    readonly delay?: string
  }
}

/** A key that a person has to put into the Secret for notifications. */
export interface SecretKey {
  readonly key: string
  /** What to put there, and where it is now. */
  readonly text: string
}

export interface NamedWindow {
  readonly name: string
  readonly spec: Pick<MaintenanceWindowSpec, 'timeZone' | 'schedule'>
}

/** What some of the settings come to. */
export interface Part {
  readonly findings: readonly Finding[]
  readonly budget?: BudgetDraft
  readonly agent?: AgentValues
  readonly windows?: readonly NamedWindow[]
  readonly secretKeys?: readonly SecretKey[]
}

/** Whether the API server would take it: whatever is printed has passed here. */
export function fitsBudget(piece: BudgetDraft): boolean {
  return maintenanceBudget.spec.safeParse(piece).success
}
