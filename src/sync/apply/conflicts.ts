import { canonicalText, type JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import type { ApplyMode } from './annotations.ts'
import { type FieldPath, serverText, valueAt } from './field-path.ts'
import { entriesOf, isOwnEntry, leavesOf } from './field-set.ts'
import { isSameMeaning } from './same-meaning.ts'

/** What to do about a field that somebody else holds: take it over, leave it to them, or ask a person. */
export type ConflictVerdict = 'take' | 'yield' | 'fail'

export interface ConflictRules {
  readonly manager: string
  readonly mode: ApplyMode | undefined
  readonly adoptFrom: readonly string[]
  readonly conflicts: 'fail' | 'take'
  readonly isAutoscaled: boolean
}

/** A field that is declared and held by another manager with another value. */
export interface Contest {
  readonly path: FieldPath
  readonly holder: ManagedFieldsEntry
  readonly verdict: ConflictVerdict
}

/** People and programs that write once and do not come back. What they wrote by hand, git overrules. */
const oneShot =
  /^(kubectl(-.*)?|before-first-apply|helm|Helm|oc|k9s|Lens|OpenLens|node-fetch|headlamp.*|dashboard|kubernetes-dashboard|rancher|Mozilla|unknown)$/

export function isOneShot({ manager = '' }: ManagedFieldsEntry): boolean {
  return oneShot.test(manager)
}

const autoscalers = /^(keda-operator|keda|horizontal-pod-autoscaler|vpa-.*|cluster-proportional-autoscaler)$/

/** Controllers whose job it is to write that field. */
export function knownController(path: FieldPath, holder: ManagedFieldsEntry): boolean {
  return isKnownController(serverText(path), holder)
}

function isKnownController(field: string, { manager = '', subresource }: ManagedFieldsEntry): boolean {
  if (field === '.spec.replicas') {
    // The autoscaler of Kubernetes lives in the controller manager and writes by way of scale.
    return autoscalers.test(manager) || (manager === 'kube-controller-manager' && subresource === 'scale')
  }
  if (/\.caBundle$/.test(field)) return !oneShot.test(manager)
  if (field === '.rules') return manager === 'clusterrole-aggregation-controller'
  return field === '.metadata.annotations.deployment.kubernetes.io/revision' && manager === 'kube-controller-manager'
}

/** `field` as the server writes it. */
export function verdictOf(field: string, holder: ManagedFieldsEntry, rules: ConflictRules): ConflictVerdict {
  const { manager = '' } = holder
  if (rules.mode === 'override') return 'take'
  if (rules.mode === 'merge') return 'yield'
  if (rules.adoptFrom.includes(manager)) return 'take'
  if (isKnownController(field, holder)) {
    // The entry of an autoscaler outlives it; then nobody else steers the number.
    return field === '.spec.replicas' && !rules.isAutoscaled ? 'take' : 'yield'
  }
  // Somebody who writes under our name is not us: ours are applies.
  if (oneShot.test(manager) || manager === rules.manager) return 'take'
  return rules.conflicts
}

/** All that the server would call a conflict, and what is to be done. Those that are left to a controller also if equal. */
export function contestsOf(body: JsonObject, live: JsonObject, rules: ConflictRules): readonly Contest[] {
  return entriesOf(live)
    .filter((entry) => !isOwnEntry(entry, rules.manager))
    .flatMap((holder) =>
      [...leavesOf(holder.fieldsV1 ?? {})].flatMap((path) => contestAt(path, holder, body, live, rules)),
    )
}

function contestAt(
  path: FieldPath,
  holder: ManagedFieldsEntry,
  body: JsonObject,
  live: JsonObject,
  rules: ConflictRules,
): readonly Contest[] {
  const declared = valueAt(body, path)
  if (declared === undefined) return []
  const field = serverText(path)
  const verdict = verdictOf(field, holder, rules)
  if (verdict === 'yield' && isKnownController(field, holder)) return [{ path, holder, verdict }]
  const value = valueAt(live, path)
  if (value !== undefined && canonicalText(declared) === canonicalText(value)) return []
  // Our own spelling of the same quantity is no reason to stop; the server has the last word on it.
  const isSameScalar = typeof declared !== 'object' && isSameMeaning(declared, value)
  return verdict === 'fail' && isSameScalar ? [] : [{ path, holder, verdict }]
}

/** Who stands in the way, from the words of a refused apply: `conflict with "x" with subresource "scale" using v1`. */
export function holderIn(message: string): ManagedFieldsEntry {
  const match = /conflict with "([^"]*)"(?: with subresource "([^"]*)")?/.exec(message)
  return { manager: match?.[1] ?? '', ...(match?.[2] === undefined ? {} : { subresource: match[2] }) }
}
