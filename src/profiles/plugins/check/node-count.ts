import { required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'

export const nodeCount = checkPlugin({
  type: 'nodeCount',
  about: 'The cluster has at least so many nodes.',
  fields: { count: required('integer', 'how many nodes there must be at least') },
  create: ({ count }) => ({
    check({ cluster }) {
      let current = 0
      for (const _ of cluster.nodes()) current++
      return answer(current >= count, { current, expected: count })
    },
  }),
})
