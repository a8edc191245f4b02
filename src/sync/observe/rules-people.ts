import { ignoreRuleText, isIgnored } from './ignore-rules.ts'
import { type ProtectionRule, when } from './protection-rule.ts'

/** What people said about an object, or did to it. That they want to keep it comes last. */
export const peopleRules: readonly ProtectionRule[] = [
  {
    rule: 'terminating',
    why: ({ metadata }) =>
      when(metadata.deletionTimestamp !== undefined, `it is being deleted since ${metadata.deletionTimestamp}`),
  },
  {
    rule: 'ignore',
    why: (object, { policy }) => {
      const fitting = policy.ignore.find((rule) => isIgnored(object, rule))
      return fitting && `the policy ignores it: ${ignoreRuleText(fitting)}`
    },
  },
]
