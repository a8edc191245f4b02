import { foreignOwner } from './foreign.ts'
import { keepMarkOf } from './keep-marks.ts'
import { type ProtectionRule, when } from './protection-rule.ts'
import { dataKinds, isOneOf } from './system-kinds.ts'

/** Reasons not to delete what somebody may well want to declare. They come last: before them, everything else was asked. */
export const cautionRules: readonly ProtectionRule[] = [
  {
    rule: 'keep',
    why: ({ metadata }) => {
      const mark = keepMarkOf(metadata)
      return when(mark !== undefined, `it is marked to stay: ${mark}`)
    },
  },
  {
    rule: 'pvc-default',
    why: ({ key }, { policy }) =>
      when(
        isOneOf(key, dataKinds) && !policy.deletion.allowDataDeletion,
        'it holds data, and the policy does not allow the deletion of data',
      ),
  },
  {
    rule: 'aggregated',
    isForStrangers: true,
    why: ({ key, isAggregated }, { policy }) =>
      when(
        isAggregated === true && !policy.deletion.allowAggregated?.includes(key.group),
        `${key.group} may be served by another program than the API server, and show objects of other groups`,
      ),
  },
  {
    rule: 'foreign',
    isForStrangers: true,
    // Also if --adopt-from names the program: that gives us what git declares, and nothing else of theirs.
    why: (object, { setId }) => foreignOwner(object, setId)?.why,
  },
  {
    rule: 'young',
    isForStrangers: true,
    why: ({ metadata }, { policy, nowMs }) => {
      const madeMs = Date.parse(metadata.creationTimestamp ?? '')
      if (Number.isNaN(madeMs)) return 'nobody knows how old it is'
      const { minOrphanAgeMs } = policy.deletion
      return when(
        nowMs - madeMs < minOrphanAgeMs,
        `it is younger than ${minOrphanAgeMs / 1000} s, and its owner may still claim it`,
      )
    },
  },
]
