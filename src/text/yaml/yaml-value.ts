/** What a YAML file says. Whole numbers that a double would round are bigints. */
export type YamlValue = null | boolean | number | bigint | string | readonly YamlValue[] | YamlMap

export interface YamlMap {
  readonly [key: string]: YamlValue
}

export interface YamlDocument {
  readonly value: YamlValue
  /** Of its first content; lines begin with 1. */
  readonly line: number
}

/** Why a text cannot be read. It never repeats the text: that may be a secret. */
export interface YamlProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Both readers refuse what is nested deeper. */
export const deepest = 200
