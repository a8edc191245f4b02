import { randomBytes } from 'node:crypto'

/** No text that somebody else wrote can hold it. */
const mark = `bigint ${randomBytes(12).toString('hex')} `
const marked = new RegExp(`"${mark}(-?\\d+)"`, 'g')

/** As JSON.stringify, and bigints as the numbers that they are: a manifest may hold integers that a double would round. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Hardly any body holds a bigint, and a replacer makes all of them several times slower.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? `${mark}${one}` : one)).replace(
      marked,
      '$1',
    )
  }
}
