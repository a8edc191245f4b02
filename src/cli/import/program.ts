import type { Part, Place } from './finding.ts'
import type { FlagForm, Settings } from './settings.ts'

/** Another program whose settings we take over. */
export interface ImportedProgram {
  readonly name: 'kured' | 'Kustodian'
  /** Of the executable and the image, and the key that an umbrella chart puts the values below. */
  readonly executable: string
  readonly flags: Readonly<Record<string, FlagForm>>
  /** Flags that name a file on the host, in a manifest as the container sees it. */
  readonly hostPaths: readonly string[]
  /** Flags whose value may be a secret, so that it often stands in one. */
  readonly secrets: readonly string[]
  /** Variables of the environment begin with it. */
  readonly environmentPrefix: string
  /** The flag that a variable sets, or why it sets none. */
  readonly flagOfVariable: (variable: string) => { readonly flag: string } | { readonly ignored: string }
  readonly chart: ChartValues
  readonly translate: (settings: Settings, about: About) => readonly Part[]
}

/** What is in a chart's values apart from flags. */
export interface ChartValues {
  /** Below which key the flags are, in camel case. */
  readonly flagsBelow: string | undefined
  /** Values about the program's own pods, which go with them. */
  readonly ownPods: readonly string[]
  /** Flags that the chart passes whatever the values say. */
  readonly fixed: Readonly<Record<string, string>>
}

/** What was seen besides flags. */
export interface About {
  /** Whether there was a manifest: values do not say what the release is called. */
  readonly hasManifest: boolean
  /** Where somebody wanted its metrics read. */
  readonly metrics: readonly { readonly as: string; readonly place: Place }[]
  /** Where the chart was told to mount the sentinel file, and then passes no command. */
  readonly mountsSentinel: boolean
}
