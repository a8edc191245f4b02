import { optional, required } from '../../fields.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { namesProfile, textAt } from './node-metadata.ts'
import { compareSemVer, readSemVer, type SemVer } from './semver.ts'

/** What counts as the highest version when no node has one; that of the original. */
const lowest: SemVer = { text: '0.1.0', numbers: [0n, 1n, 0n], preRelease: [] }

export const clusterSemver = checkPlugin({
  type: 'clusterSemver',
  about: 'The version in a label of the node is lower than the highest one in the cluster.',
  fields: {
    key: required('text', 'the label that holds a version such as 1.2.3'),
    profileScoped: optional('flag', 'compare with nodes of the same profile only'),
  },
  create: ({ key, profileScoped }) => ({
    check({ node, cluster, profile }) {
      const text = textAt(node.labels, key)
      if (text === undefined) throw new Error(`the node has no label ${key}, so its version is not known`)
      const own = readSemVer(text)
      if (!own) throw new Error(`label ${key} is ${JSON.stringify(text)}, which is no version such as 1.2.3`)
      let max = lowest
      for (const other of cluster.nodes()) {
        if (profileScoped && !namesProfile(other, profile)) continue
        const found = readSemVer(textAt(other.metadata.labels, key) ?? '')
        if (found && compareSemVer(found, max) > 0) max = found
      }
      return answer(compareSemVer(own, max) < 0, { own: own.text, max: max.text })
    },
  }),
})
