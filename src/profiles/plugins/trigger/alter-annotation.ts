import { optional, required } from '../../fields.ts'
import type { Plugin, Trigger } from '../../plugin.ts'
import { keyWarnings } from './altered-key.ts'

const fields = {
  key: required('text', 'key of the annotation'),
  value: optional('text', 'what it is set to'),
  remove: optional('flag', 'whether it is removed instead'),
} as const

export const alterAnnotation: Plugin<Trigger, typeof fields> = {
  type: 'alterAnnotation',
  about: 'Sets or removes an annotation of the node.',
  fields,
  warnings: ({ key }) => keyWarnings(key),
  create: ({ key, value, remove }) => ({
    isOutside: false,
    run({ node: { annotations } }) {
      if (remove) delete annotations[key]
      else annotations[key] = value
      return 'done'
    },
  }),
}
