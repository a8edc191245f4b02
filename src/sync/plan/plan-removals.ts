import { compareKeys, keyId } from '../key.ts'
import { pruneWorld } from '../observe/never-pruned.ts'
import type { ObservedObject } from '../observed.ts'
import { isOpened, openingHash } from './hash.ts'
import { heldConfig } from './held-config.ts'
import { standingOf } from './membership.ts'
import { deletionLayers, layerOf } from './order.ts'
import { deleteStep, type Orphan, orphanedAt, reasonToStay, reasonToWait, waitStep } from './plan-orphans.ts'
import { indexByKey, isInScope, whyUnknown } from './scope.ts'
import type { DeleteStep, OpeningList, PlanInput, RestStep, WaitStep } from './steps.ts'

export interface Removals {
  readonly deletes: readonly DeleteStep[]
  readonly rests: readonly RestStep[]
  readonly opening?: OpeningList
}

/** What becomes of all that is there, or recorded, and that nothing declares. */
export function planRemovals(input: PlanInput): Removals {
  const { observed, inventory, policy, setId, nowMs } = input
  const declared = new Set(input.declared.map(({ key }) => keyId(key)))
  const members = indexByKey(inventory.members.filter(({ key }) => !declared.has(keyId(key))))
  const live = indexByKey(observed.objects)
  const world = pruneWorld({ objects: observed.objects, unknown: observed.unknown, declared, policy, setId, nowMs })

  const rests: RestStep[] = []
  for (const { key } of members.values()) if (!live.has(keyId(key))) rests.push(unseen(key, input))
  const leaving: Orphan[] = []
  const young: Orphan[] = []
  for (const object of observed.objects) {
    if (declared.has(keyId(object.key))) continue
    const { rest, orphan } = ofLive(object, members.get(keyId(object.key)), input)
    rests.push(...rest)
    const stays = orphan && reasonToStay(orphan, world, input)
    if (stays) rests.push(stays)
    // Its age is all that protects it, and that passes: who agrees to the list agrees to its deletion.
    if (orphan && isYoung(stays)) young.push(orphan)
    else if (orphan && !stays) leaving.push(orphan)
  }

  const strangers = leaving.filter(({ member }) => member === undefined)
  const opening = openingOf(strangers, young, input)
  const isClosed = opening !== undefined && opening.keys.length > 0
  for (const orphan of strangers) if (policy.mode !== 'total') rests.push(leftAlone(orphan))
  const goes = leaving.filter(({ member }) => member !== undefined || policy.mode === 'total')
  const { deletes, waits } = timed(goes, isClosed, input)
  return { deletes, rests: [...rests, ...waits], ...(opening ? { opening } : {}) }
}

function unseen(key: ObservedObject['key'], { observed, policy }: PlanInput): RestStep {
  if (!isInScope(key, policy))
    return {
      do: 'keep',
      key,
      rule: 'out-of-scope',
      why: 'this Sync may not touch it any more, so it is not known whether it is there',
    }
  const unknown = whyUnknown(key, observed.unknown)
  if (unknown !== undefined)
    return { do: 'keep', key, rule: 'unknown', why: `it is not known whether it is there: ${unknown}` }
  return { do: 'forget', key, why: 'nothing declares it, and it is gone' }
}

/** Whose it is decides what may be done with it. */
function ofLive(
  object: ObservedObject,
  member: PlanInput['inventory']['members'][number] | undefined,
  { setId, policy }: PlanInput,
): { readonly rest: readonly RestStep[]; readonly orphan?: Orphan } {
  const { key } = object
  const standing = standingOf(object, member, setId)
  switch (standing.is) {
    case 'member':
      return { rest: [], orphan: { object, member: standing.member } }
    case 'taken':
      return { rest: [{ do: 'forget', key, why: `it belongs to the set ${standing.by} now` }] }
    case 'unlabelled': {
      const why =
        'it does not carry our label: it was never made ours, or somebody took it off; release it if it is not ours'
      return { rest: [{ do: 'keep', key, rule: 'unlabelled', why }] }
    }
    case 'replaced': {
      const forget: RestStep = { do: 'forget', key, why: `the object that was ours is gone: ${standing.why}` }
      return { rest: [forget], ...(policy.mode === 'total' ? { orphan: { object } } : {}) }
    }
    case 'stranger':
      return { rest: [], orphan: { object } }
  }
}

function leftAlone({ object }: Orphan): RestStep {
  return {
    do: 'keep',
    key: object.key,
    rule: 'stranger',
    why: 'nothing declares it, and only mode total removes what is not ours',
  }
}

function isYoung(step: RestStep | undefined): boolean {
  return step?.do === 'keep' && step.rule === 'young'
}

/** The list that a person has to agree to; undefined once that is settled. An empty one needs no agreement. */
function openingOf(
  strangers: readonly Orphan[],
  young: readonly Orphan[],
  { policy, inventory, permits, observed }: PlanInput,
): OpeningList | undefined {
  if (policy.mode !== 'total' || isOpened(inventory.openingHash, policy)) return undefined
  const listed = [...strangers, ...young].map(({ object }) => object)
  const hash = openingHash(listed, policy)
  const isAgreed = permits.approve === hash || inventory.approvals.includes(hash)
  const keys = isAgreed ? [] : listed.map(({ key }) => key).sort(compareKeys)
  return { hash, keys, isAgreed, isWhole: observed.unknown.length === 0 && young.length === 0 }
}

/** Deletes what has waited long enough and is used by nobody. */
function timed(
  orphans: readonly Orphan[],
  isClosed: boolean,
  input: PlanInput,
): { readonly deletes: readonly DeleteStep[]; readonly waits: readonly WaitStep[] } {
  const waits: WaitStep[] = []
  const due: Orphan[] = []
  for (const orphan of orphans) {
    const step = isClosed && orphan.member === undefined ? unapproved(orphan, input) : reasonToWait(orphan, input)
    if (step) waits.push(step)
    else due.push(orphan)
  }
  const holderOf = heldConfig(input.observed, new Set(due.map(({ object }) => object.uid)))
  const layers = deletionLayers(due.map(({ object }) => object))
  const deletes: DeleteStep[] = []
  for (const orphan of due) {
    const { key } = orphan.object
    const holder = holderOf(key)
    if (holder === undefined) deletes.push(deleteStep(orphan, layers.get(keyId(key)) ?? layerOf(key), input))
    else waits.push(waitStep(orphan, orphanedAt(orphan, input), 'references', holder))
  }
  return { deletes, waits }
}

function unapproved(orphan: Orphan, input: PlanInput): WaitStep {
  const why = 'nothing declares it; the opening list has to be approved first'
  return waitStep(orphan, orphanedAt(orphan, input), 'approval', why)
}
