import { optional, required } from '../../fields.ts'
import { stateLabel } from '../../names.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { fits } from './node-metadata.ts'

export const anyLabel = checkPlugin({
  type: 'anyLabel',
  about: 'Some node of the cluster, which may be this one, has a label, and if a value is given, with that value.',
  fields: {
    key: required('text', 'the label'),
    value: optional('text', 'the value that it must have; any, if this is empty'),
  },
  create: ({ key, value }) => ({
    // `!anyLabel` of this label lets one node in at a time, which holds only if they ask one after the other.
    isShared: key === stateLabel,
    asksForLabel: { key, value },
    check({ cluster }) {
      for (const { metadata } of cluster.nodes()) if (fits(metadata.labels, key, value)) return answer(true)
      return answer(false, { reason: `no node has the label ${key}${value === '' ? '' : `=${value}`}` })
    },
  }),
})
