import type { Check, Notifier, Plugin, Schedule, Trigger } from '../plugin.ts'

/** All plugins that a file may name, by what they are for. */
export interface Registry {
  readonly check: readonly Plugin<Check>[]
  readonly trigger: readonly Plugin<Trigger>[]
  readonly notify: readonly Plugin<Notifier>[]
  readonly schedule: readonly Plugin<Schedule>[]
}
