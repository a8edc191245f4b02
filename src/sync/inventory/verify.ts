import type { Inventory, Member } from '../inventory-record.ts'
import { keyId, keyText } from '../key.ts'
import type { Observation, ObservedObject } from '../observed.ts'
import { partOfLabel } from './apply-set.ts'

export interface Verified {
  /** Sentences; none when what is recorded is what is there. */
  readonly findings: readonly string[]
  readonly repaired: Inventory
}

/**
 * Compares what is recorded with what is there, which has to be everything: all kinds, found by the label of the set.
 * Nothing leaves the record unless it is proven to be gone or to be somebody else's.
 */
export function verifyInventory(inventory: Inventory, observed: Observation, setId: string): Verified {
  const found = new Map(observed.objects.map((object) => [keyId(object.key), object]))
  const looked = placesLookedAt(observed)
  const findings: string[] = []
  const members = inventory.members.flatMap((member): readonly Member[] => {
    const object = found.get(keyId(member.key))
    const answer = object ? checked(member, object, setId) : absent(member, observed, looked)
    if (answer.finding !== undefined) findings.push(`${keyText(member.key)}: ${answer.finding}`)
    return answer.member ? [answer.member] : []
  })
  const recorded = new Set(inventory.members.map(({ key }) => keyId(key)))
  for (const object of observed.objects) {
    if (recorded.has(keyId(object.key)) || labelOf(object) !== setId || isCopy(object, found)) continue
    findings.push(`${keyText(object.key)}: carries our label and was not recorded; recorded now`)
    members.push({ key: object.key, uid: object.uid, apiVersion: object.apiVersion })
  }
  return { findings, repaired: { ...inventory, members } }
}

/** Controllers copy labels to what they make, which is no fault. Endpoints do not even say whose they are. */
function isCopy({ key, metadata }: ObservedObject, found: ReadonlyMap<string, ObservedObject>): boolean {
  if ((metadata.ownerReferences ?? []).length > 0) return true
  return key.group === '' && key.kind === 'Endpoints' && found.has(keyId({ ...key, kind: 'Service' }))
}

interface Checked {
  /** Nothing when it is to be forgotten. */
  readonly member?: Member
  readonly finding?: string
}

function checked(member: Member, object: ObservedObject, setId: string): Checked {
  const label = labelOf(object)
  const isOurs = label === setId
  if (label !== undefined && !isOurs) return { finding: 'is now part of another set; forgotten' }
  if (member.uid === object.uid)
    return isOurs ? { member } : { member, finding: 'has lost our label; the next apply writes it' }
  // Controllers copy labels to what they make: on another object than the recorded one a label needs more proof.
  const [owner] = object.metadata.ownerReferences ?? []
  if (!isOurs || owner) {
    const what = member.uid === undefined ? 'was announced, and what is there' : 'is gone, and what has its name now'
    return {
      finding: `${what} ${isOurs ? `belongs to ${owner?.kind} ${owner?.name}` : 'does not carry our label'}; forgotten`,
    }
  }
  // What the server made of another object says nothing about this one.
  const { reference: _, ...rest } = member
  const what = member.uid === undefined ? 'was made and its UID not recorded' : 'was made anew, with our label'
  return { member: { ...rest, uid: object.uid }, finding: `${what}; recorded now` }
}

function absent(member: Member, { unknown }: Observation, looked: ReadonlySet<string>): Checked {
  const { group, kind } = member.key
  const gap = unknown.find((one) => one.group === group && (one.kind === undefined || one.kind === kind))
  if (gap) return { member, finding: `cannot be looked for: ${gap.why}; kept` }
  if (!looked.has(placeOf(member))) return { member, finding: 'is where nothing was seen at all; kept' }
  return { finding: member.uid === undefined ? 'was announced and never made; forgotten' : 'is gone; forgotten' }
}

/**
 * An observation does not say where it looked. A namespace is never empty, since Kubernetes itself puts things there: one
 * in which nothing was seen was not looked at, or is gone itself. Of the whole cluster only named kinds are looked at.
 */
function placesLookedAt({ objects }: Observation): ReadonlySet<string> {
  return new Set(objects.map(placeOf))
}

function placeOf({ key: { namespace, group, kind } }: Pick<Member, 'key'>): string {
  return namespace === '' ? `all ${group} ${kind}` : `in ${namespace}`
}

function labelOf({ metadata }: ObservedObject): string | undefined {
  return metadata.labels?.[partOfLabel]
}
