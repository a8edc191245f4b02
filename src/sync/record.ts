import type { Applied } from './apply/apply-object.ts'
import type { DeclaredObject, DeclaredSet } from './declared.ts'
import type { Inventory, Member, Verdict, VerdictIs } from './inventory-record.ts'
import { type Key, keyId } from './key.ts'
import { keepMarkOf } from './observe/keep-marks.ts'
import { isOtherContent, isOtherPlace, withPlaceInForce } from './plan/hash.ts'
import { textsAt } from './plan/pod-references.ts'
import type { ApplyStep, Plan, Step } from './plan/steps.ts'
import type { Commit } from './source/open-source.ts'

const mostVerdicts = 100
const hourMs = 3_600_000

/** What is remembered before the first write: everything that may exist after it, and the deletions that may be made by then. */
export function announced(
  inventory: Inventory,
  plan: Plan,
  revision: string,
  now: string,
  deletions: number,
): Inventory {
  const known = new Set(inventory.members.map(({ key }) => keyId(key)))
  const coming = plan.steps.flatMap((step): Member[] =>
    (step.do === 'create' || step.do === 'adopt') && !known.has(keyId(step.key))
      ? [{ key: step.key, apiVersion: step.declared.apiVersion, from: step.declared.from }]
      : [],
  )
  return {
    ...waiting(inventory, plan),
    members: [...inventory.members, ...coming],
    deletions: [...earlierDeletions(inventory, plan), ...times(deletions, now)],
    underway: { planHash: plan.hash, revision, since: now },
  }
}

/** Countdowns survive a restart: when each orphan was seen first. So does the approval of the opening list. */
export function waiting(inventory: Inventory, plan: Plan): Inventory {
  const memberSince = new Map<string, string>()
  const strangers: Record<string, string> = {}
  for (const step of plan.steps) {
    if ((step.do !== 'wait' && step.do !== 'delete') || step.since === undefined) continue
    if (step.isStranger) strangers[step.uid] = step.since
    else memberSince.set(keyId(step.key), step.since)
  }
  return {
    ...inventory,
    strangers,
    members: inventory.members.map((known): Member => {
      const { orphanedAt: _, ...member } = known
      const orphanedAt = memberSince.get(keyId(member.key))
      return orphanedAt === undefined ? member : { ...member, orphanedAt }
    }),
    ...opened(inventory, plan.opening),
  }
}

/**
 * An opening list on which nothing is left, because it was approved or there was nothing, is settled for all strangers
 * to come; not so one with strangers that nobody could see or judge yet. Then the approval counts for this very list.
 */
function opened({ approvals }: Inventory, opening: Plan['opening']): Partial<Inventory> {
  if (!opening || opening.keys.length > 0) return {}
  if (opening.isWhole) return { openingHash: opening.hash }
  const isNew = opening.isAgreed && !approvals.includes(opening.hash)
  return isNew ? { approvals: [...approvals, opening.hash] } : {}
}

export function withApplied(
  inventory: Inventory,
  applied: ReadonlyMap<string, { readonly step: ApplyStep; readonly result: Applied }>,
  revision: string,
): Inventory {
  return {
    ...inventory,
    members: inventory.members.map((member): Member => {
      const done = applied.get(keyId(member.key))
      if (!done) return member
      const { uid, reference, outcome } = done.result
      const { declared } = done.step
      const isChanged = outcome !== 'unchanged' || member.revision === undefined
      return {
        key: member.key,
        uid,
        apiVersion: declared.apiVersion,
        from: declared.from,
        ...(reference ? { reference } : {}),
        ...(isMarkedToStay(declared) ? { isKept: true as const } : {}),
        revision: isChanged ? revision : (member.revision ?? revision),
      }
    }),
  }
}

/** Somebody may take the mark off the live object; what git said last counts all the same. */
function isMarkedToStay({ body }: DeclaredObject): boolean {
  const annotations = textsAt(body, 'metadata', 'annotations')
  return keepMarkOf({ annotations, labels: textsAt(body, 'metadata', 'labels') }) !== undefined
}

export function without(inventory: Inventory, gone: readonly Key[]): Inventory {
  const ids = new Set(gone.map(keyId))
  return { ...inventory, members: inventory.members.filter(({ key }) => !ids.has(keyId(key))) }
}

/**
 * Those of earlier plans. What a run announced and died over counts as done, except if this is the same plan still: had
 * one of its deletions happened, it would be another one.
 */
export function earlierDeletions({ deletions, underway }: Inventory, { hash }: Pick<Plan, 'hash'>): readonly string[] {
  return underway?.planHash === hash ? deletions.filter((at) => at !== underway.since) : deletions
}

/** The budget of an hour counts them. So many were made in the end, whatever was announced. */
export function withDeletions(
  inventory: Inventory,
  earlier: readonly string[],
  count: number,
  nowMs: number,
): Inventory {
  const recent = earlier.filter((at) => nowMs - Date.parse(at) < hourMs)
  return { ...inventory, deletions: [...recent, ...times(count, new Date(nowMs).toISOString())] }
}

function times(count: number, at: string): readonly string[] {
  return Array.from({ length: count }, () => at)
}

/** Every commit gets its verdict: the last one its own, those before it were overtaken. */
export function withVerdict(
  inventory: Inventory,
  commits: readonly Commit[],
  is: VerdictIs,
  rest: Pick<Verdict, 'why' | 'seconds' | 'planHash' | 'counts'>,
  now: string,
): Inventory {
  const tip = commits.at(-1)
  if (!tip) return inventory
  const known = new Map(inventory.verdicts.map((verdict) => [verdict.revision, verdict]))
  const overtaken = commits.slice(0, -1).filter(({ sha }) => !known.has(sha))
  const verdicts: Verdict[] = [
    ...inventory.verdicts.filter(({ revision }) => revision !== tip.sha),
    ...overtaken.map((commit) => ({
      ...named(commit),
      is: 'Superseded' as const,
      why: `by ${tip.sha.slice(0, 12)}`,
      at: now,
    })),
    { ...named(tip), is, ...rest, at: now },
  ]
  return { ...inventory, verdicts: verdicts.slice(-mostVerdicts) }
}

/** What commits changed that are not in force, if they failed or were cut short: nobody has seen it healthy. */
export function unproven({ members, verdicts }: Inventory, commits: readonly Commit[]): readonly Member[] {
  const good = verdicts.findLastIndex(({ is }) => is === 'Applied' || is === 'NoChange')
  const open = new Set([...commits.map(({ sha }) => sha), ...verdicts.slice(good + 1).map(({ revision }) => revision)])
  return members.filter(({ revision }) => revision !== undefined && open.has(revision))
}

function named({ sha, author, subject }: Commit): Pick<Verdict, 'revision' | 'author' | 'subject'> {
  return { revision: sha, author, subject }
}

/**
 * The commit is in force: all of it was applied, and what it no longer declares is gone or waits. Of a commit that is
 * read otherwise than before, the first content stays on record: else the next plan would delete what this one may not.
 */
export function inForce(
  inventory: Inventory,
  revision: string,
  { digest }: Pick<DeclaredSet, 'digest'>,
  plan: Pick<Plan, 'steps' | 'halts'>,
): Inventory {
  const { underway: _, ...rest } = inventory
  if (isOtherContent(inventory, revision, digest)) return rest
  const isOpen = isOtherPlace(inventory, digest) && isMoveOpen(inventory, plan)
  return { ...rest, revision, digest: isOpen ? withPlaceInForce(inventory, digest) : digest }
}

/** Members that the new place does not declare are still there, and nobody has agreed that they go: it is asked when their time comes. */
function isMoveOpen({ members }: Inventory, { steps, halts }: Pick<Plan, 'steps' | 'halts'>): boolean {
  if (halts.some(({ reason }) => reason === 'SourceChanged')) return true
  const isAgreed = steps.some((step) => step.do === 'delete' && !step.isStranger)
  const known = new Set(members.map(({ key }) => keyId(key)))
  const isLeft = (step: Step) =>
    (step.do === 'wait' && !step.isStranger && step.waitsFor !== 'removal') ||
    (step.do === 'keep' && step.rule === 'unknown' && known.has(keyId(step.key)))
  return !isAgreed && steps.some(isLeft)
}
