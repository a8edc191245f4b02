import { required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'

export const condition = checkPlugin({
  type: 'condition',
  about: 'A condition of the node, such as Ready, has a status.',
  fields: {
    type: required('text', 'the type of the condition, such as Ready'),
    status: required('text', 'the status that it must have: "True", "False" or "Unknown", in quotes'),
  },
  warnings({ status }) {
    // YAML makes a boolean of an unquoted True, and its text is written small.
    if (status !== 'true' && status !== 'false') return []
    const meant = status === 'true' ? '"True"' : '"False"'
    return [{ field: 'status', message: `no condition ever has the status ${status}; write ${meant}, with the quotes` }]
  },
  create: ({ type, status }) => ({
    check({ node }) {
      const found = node.stored.status?.conditions?.find((one) => one.type === type)
      if (!found) return answer(false, { reason: `the node has no condition ${type}` })
      return answer(found.status === status, { current: found.status, expected: status })
    },
  }),
})
