import { optional, required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { fits, missing } from './node-metadata.ts'

export const hasAnnotation = checkPlugin({
  type: 'hasAnnotation',
  about: 'The node has an annotation, and if a value is given, with that value.',
  fields: {
    key: required('text', 'the annotation'),
    value: optional('text', 'the value that it must have; any, if this is empty'),
  },
  create: ({ key, value }) => ({
    check: ({ node: { annotations } }) =>
      fits(annotations, key, value)
        ? answer(true)
        : answer(false, { reason: missing('annotation', annotations, key, value) }),
  }),
})
