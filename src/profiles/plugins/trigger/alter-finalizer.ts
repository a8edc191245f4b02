import { optional, required } from '../../fields.ts'
import type { Plugin, Trigger } from '../../plugin.ts'
import { keyWarnings } from './altered-key.ts'

const fields = {
  key: required('text', 'name of the finalizer'),
  remove: optional('flag', 'whether it is removed instead of added'),
} as const

export const alterFinalizer: Plugin<Trigger, typeof fields> = {
  type: 'alterFinalizer',
  about: 'Adds a finalizer to the node, or removes it.',
  fields,
  warnings: ({ key }) => keyWarnings(key),
  create: ({ key, remove }) => ({
    isOutside: false,
    run({ node }) {
      const others = node.finalizers.filter((one) => one !== key)
      if (remove) node.finalizers = others
      else if (!node.finalizers.includes(key)) node.finalizers = [...others, key]
      return 'done'
    },
  }),
}
