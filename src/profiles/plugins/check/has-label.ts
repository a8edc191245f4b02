import { optional, required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { fits, missing } from './node-metadata.ts'

export const hasLabel = checkPlugin({
  type: 'hasLabel',
  about: 'The node has a label, and if a value is given, with that value.',
  fields: {
    key: required('text', 'the label'),
    value: optional('text', 'the value that it must have; any, if this is empty'),
  },
  create: ({ key, value }) => ({
    check: ({ node: { labels } }) =>
      fits(labels, key, value) ? answer(true) : answer(false, { reason: missing('label', labels, key, value) }),
  }),
})
