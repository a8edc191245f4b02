import { defaultProfile, profileSeparator } from '../names.ts'
import type { Profile, ProfilesConfig } from '../plugin.ts'
import type { MaintenanceData } from './data.ts'
import { goTimeOf } from './go-time.ts'

export interface Selection {
  /** In the order of the label. */
  readonly profiles: readonly Profile[]
  /** Names in the label that the file does not know. */
  readonly unknown: readonly string[]
  /** With an entry for each selected profile, and none for a profile that the label no longer names. */
  readonly data: MaintenanceData
  /** Profiles that the label no longer names, with the state they were dropped in. */
  readonly dropped: readonly { readonly name: string; readonly state: string }[]
}

/** The profiles that a node's label names; `default`, if there is none. */
export function namesIn(label: string | undefined): ReadonlySet<string> {
  return new Set((label || defaultProfile).split(profileSeparator).filter((name) => name !== ''))
}

/** Which profiles a node goes through, by the value of its label. */
export function selectProfiles(
  label: string | undefined,
  config: ProfilesConfig,
  data: MaintenanceData,
  nowMs: number,
): Selection {
  const names = namesIn(label)
  const profiles = [...names].flatMap((name) => config.profiles.get(name) ?? [])
  const kept = new Map([...data.profiles].filter(([name]) => names.has(name)))
  // Attached now: it neither enters nor tells, and waits count from here.
  for (const { name } of profiles)
    if (!kept.has(name))
      kept.set(name, { transition: goTimeOf(nowMs), current: 'operational', previous: 'operational' })
  return {
    profiles,
    unknown: [...names].filter((name) => !config.profiles.has(name)),
    data: { profiles: kept, notifications: data.notifications },
    dropped: [...data.profiles].flatMap(([name, { current }]) => (names.has(name) ? [] : [{ name, state: current }])),
  }
}
