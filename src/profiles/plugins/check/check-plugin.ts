import type { Fields } from '../../fields.ts'
import type { Check, CheckAnswer, CheckInfo, Plugin } from '../../plugin.ts'

/** Ties the config that a check is made of to the fields that it declares. */
export function checkPlugin<F extends Fields>(plugin: Plugin<Check, F>): Plugin<Check, F> {
  return plugin
}

export function answer(isPassed: boolean, info: CheckInfo = {}): CheckAnswer {
  return { isPassed, info }
}
