/** What a field of a plugin's config holds once it is read. Durations are milliseconds. */
interface FieldValues {
  readonly text: string
  readonly flag: boolean
  readonly integer: number
  readonly duration: number
  /** A duration that must carry its unit: a bare number is refused. */
  readonly durationText: number
  readonly texts: readonly string[]
}

export type FieldKind = keyof FieldValues

/** One key of a plugin's config: how it is read, and its line in the reference. */
export interface Field<K extends FieldKind = FieldKind> {
  readonly kind: K
  readonly about: string
  /** Text and lists must not be empty then, numbers and durations not zero. */
  readonly isRequired: boolean
  /** What counts when the key is absent. */
  readonly fallback: FieldValues[K]
}

export type Fields = Readonly<Record<string, Field>>

/** What a plugin gets for the fields that it declares. */
export type ConfigOf<F extends Fields> = { readonly [Name in keyof F]: FieldValues[F[Name]['kind']] }

const empty: FieldValues = { text: '', flag: false, integer: 0, duration: 0, durationText: 0, texts: [] }

export function required<K extends FieldKind>(kind: K, about: string): Field<K> {
  return { kind, about, isRequired: true, fallback: empty[kind] }
}

export function optional<K extends FieldKind>(
  kind: K,
  about: string,
  fallback: FieldValues[K] = empty[kind],
): Field<K> {
  return { kind, about, isRequired: false, fallback }
}
