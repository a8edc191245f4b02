import { optional, required } from '../../fields.ts'
import type { Plugin, Trigger } from '../../plugin.ts'
import { keyWarnings, valueWarnings } from './altered-key.ts'

const fields = {
  key: required('text', 'key of the label'),
  value: optional('text', 'what it is set to'),
  remove: optional('flag', 'whether it is removed instead'),
} as const

export const alterLabel: Plugin<Trigger, typeof fields> = {
  type: 'alterLabel',
  about: 'Sets or removes a label of the node.',
  fields,
  warnings: ({ key, value, remove }) => [...keyWarnings(key), ...(remove ? [] : valueWarnings(value))],
  create: ({ key, value, remove }) => ({
    isOutside: false,
    ...(remove ? {} : { setsLabel: { key, value } }),
    run({ node: { labels } }) {
      if (remove) delete labels[key]
      else labels[key] = value
      return 'done'
    },
  }),
}
