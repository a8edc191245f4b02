import { provenanceText } from './declared.ts'
import { type Key, keyId, keyText } from './key.ts'
import type { Survey } from './survey.ts'

/** One object, one state, one sentence for each side: git, the cluster, what is remembered, and what follows. */
export function explainKey(asked: Key, { set, observed, memory, plan, tip }: Survey): string {
  const is = ({ key }: { readonly key: Key }) => keyId(key) === keyId(asked)
  const declared = set.objects.find(is)
  const live = observed.objects.find(is)
  const member = memory.inventory.members.find(is)
  const step = plan.steps.find(is)
  const unknown = observed.unknown.find(
    ({ group, kind }) => group === asked.group && (kind ?? asked.kind) === asked.kind,
  )
  return [
    keyText(asked),
    declared
      ? `  git declares it at ${provenanceText(declared.from)} (commit ${tip.sha.slice(0, 12)})`
      : '  git does not declare it',
    clusterLine(live, unknown?.why),
    member
      ? `  it is a member of this Sync${member.revision ? `, last changed by commit ${member.revision.slice(0, 12)}` : ''}`
      : '  it is no member of this Sync',
    `  what follows: ${step ? `${step.do}: ${step.why}` : `nothing${whyNothing(declared !== undefined, live !== undefined)}`}`,
  ].join('\n')
}

function whyNothing(isDeclared: boolean, isThere: boolean): string {
  if (!isThere) return ''
  return isDeclared ? ', it equals git' : ', this Sync does not look at it'
}

function clusterLine(live: Survey['observed']['objects'][number] | undefined, unknown: string | undefined): string {
  if (!live)
    return unknown === undefined
      ? '  it is not in the cluster'
      : `  nobody knows whether it is in the cluster: ${unknown}`
  const { creationTimestamp, deletionTimestamp, ownerReferences } = live.metadata
  const owner = ownerReferences?.[0]
  return [
    `  it is in the cluster since ${creationTimestamp}`,
    ...(owner ? [`owned by ${owner.kind} ${owner.name}`] : []),
    ...(deletionTimestamp ? [`being deleted since ${deletionTimestamp}`] : []),
  ].join(', ')
}
