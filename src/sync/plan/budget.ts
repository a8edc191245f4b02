import { type Key, keyText } from '../key.ts'
import { isOtherContent, isOtherPlace } from './hash.ts'
import type { ApplyStep, DeleteStep, Halt, PlanInput, Unplanned } from './steps.ts'

const heavyKinds = new Set([
  'Namespace.',
  'PersistentVolume.',
  'PersistentVolumeClaim.',
  'CustomResourceDefinition.apiextensions.k8s.io',
])

/** What deleting it counts: five for what takes data or other objects along. */
export function weightOf({ group, kind }: Key): number {
  return heavyKinds.has(`${kind}.${group}`) ? 5 : 1
}

const hourMs = 3_600_000
/** Clocks of two machines are never quite equal. */
const skewMs = 60_000
/** A set this small has a budget as if it were larger, or it could never lose anything. */
const smallestSet = 10
const fewestOfKind = 5

/** What of the plan the budget is about. */
export interface Spending {
  readonly deletes: readonly DeleteStep[]
  /** Deleted too, though only to be made anew. */
  readonly replacements: readonly ApplyStep[]
  readonly hash: string
  /** Of the opening list, which is approved in the same way. */
  readonly openingHash?: string
  /** Members that were declared until now; not those that stay or wait because a person said so. */
  readonly before: readonly Key[]
  /** Members that nothing declares, of kinds that could not be read. */
  readonly unseen: readonly { readonly key: Key; readonly why: string }[]
}

export interface Verdict {
  readonly budget: { readonly used: number; readonly limit: number }
  readonly halts: readonly Halt[]
  readonly unplanned: Unplanned
}

export function judge(spending: Spending, input: PlanInput): Verdict {
  const { deletes, replacements, hash } = spending
  const used = [...deletes, ...replacements].reduce((sum, { key }) => sum + weightOf(key), 0)
  const allowed = Math.max(input.permits.allowDeletes ?? 0, allowedByTrailer(input.trailers))
  const limit = Math.max(limitOf(input), allowed)
  const always = [...terminating(input), ...clockWentBack(input)]
  const unplanned = { leftInHour: leftInHour(spending, input), halts: always }
  if (deletes.length + replacements.length === 0) return { budget: { used, limit }, halts: [], unplanned }

  const isApproved = input.permits.approve === hash || input.inventory.approvals.includes(hash)
  // A number that covers the whole plan says that so much is meant to go. That nothing is left is never said by a number.
  const isMeant = used <= allowed
  const mayBeEmpty = input.declared.length === 0 && input.policy.deletion.allowEmpty
  const { approve } = input.permits
  const isStray = approve !== undefined && approve !== hash && approve !== spending.openingHash
  const halts = [
    ...(isApproved ? [] : declaredEmpty(spending, input)),
    ...(isApproved || isMeant || mayBeEmpty ? [] : [...shrank(spending, input), ...kindsLost(spending, input)]),
    ...(isApproved ? [] : otherContent(spending, input)),
    ...(isApproved ? [] : otherPlace(spending, input)),
    ...(isApproved ? [] : overBudget(used, limit, spending)),
    ...(isApproved || used <= (input.permits.allowDeletes ?? 0) ? [] : overHour(spending, input)),
    ...unreadable(spending),
    ...always,
  ]
  const told = halts.map((halt) => (isStray ? withStrayApproval(halt, input) : halt))
  return { budget: { used, limit }, halts: told, unplanned }
}

function limitOf({ policy, inventory }: PlanInput): number {
  const { maxDeletes, maxDeletePercent } = policy.deletion
  return Math.min(maxDeletes, Math.floor((maxDeletePercent * Math.max(inventory.members.length, smallestSet)) / 100))
}

/** `Sync-Allow-Deletes: 40`. What is not a plain number allows nothing. */
function allowedByTrailer(trailers: Readonly<Record<string, string>>): number {
  const texts = Object.entries(trailers).flatMap(([name, text]) =>
    name.toLowerCase() === 'sync-allow-deletes' ? [text.trim()] : [],
  )
  return Math.max(0, ...texts.map((text) => (/^\d{1,6}$/.test(text) ? Number(text) : 0)))
}

function overBudget(used: number, limit: number, spending: Spending): Halt[] {
  if (used <= limit) return []
  const { hash } = spending
  const weighty =
    used === countOf(spending)
      ? ''
      : ` that count as ${used}, because data and what takes others along counts five-fold`
  return [
    {
      reason: 'OverBudget',
      message: `the plan ${deedsText(spending)}${weighty}; ${limit} may go at once`,
      remedy: `read the list, then give --allow-deletes ${used} or --approve ${hash}, or commit with the trailer "Sync-Allow-Deletes: ${used}"`,
    },
  ]
}

/** A time that cannot be read counts. */
function recentOf({ inventory, nowMs }: PlanInput): number {
  return inventory.deletions.filter((at) => !(Date.parse(at) <= nowMs - hourMs)).length
}

function leftInHour(spending: Spending, input: PlanInput): number {
  const left = input.policy.deletion.maxDeletesPerHour - recentOf(input)
  return Math.max(0, Math.max(left, input.permits.allowDeletes ?? 0) - countOf(spending))
}

function overHour(spending: Spending, input: PlanInput): Halt[] {
  const recent = recentOf(input)
  const { maxDeletesPerHour } = input.policy.deletion
  if (recent + countOf(spending) <= maxDeletesPerHour) return []
  return [
    {
      reason: 'OverHourlyBudget',
      message: `${objects(recent)} were deleted within the last hour and the plan ${deedsText(spending)}; ${maxDeletesPerHour} an hour may go`,
      remedy: `find out why so much goes; wait, or give --approve ${spending.hash}`,
    },
  ]
}

function countOf({ deletes, replacements }: Spending): number {
  return deletes.length + replacements.length
}

function deedsText({ deletes, replacements }: Spending): string {
  const deeds = [
    ...(deletes.length === 0 ? [] : [`deletes ${objects(deletes.length)}`]),
    ...(replacements.length === 0 ? [] : [`replaces ${objects(replacements.length)}`]),
  ]
  return deeds.join(' and ')
}

/** Files do not change within a commit: something reads them otherwise than it did. */
function otherContent({ hash }: Spending, { inventory, revision, digest }: PlanInput): Halt[] {
  if (!isOtherContent(inventory, revision, digest)) return []
  return [
    {
      reason: 'SameCommitOtherContent',
      message: `commit ${revision.slice(0, 12)} declared something else when it was put in force: its files are now read otherwise`,
      remedy: `look for what changed, the version of this program for one, and read the list; if it is meant, give --approve ${hash}`,
    },
  ]
}

/** A Sync is named after its namespace: without --name a second folder would be taken for the new content of the first. */
function otherPlace({ hash, deletes }: Spending, { inventory, digest }: PlanInput): Halt[] {
  const count = deletes.filter(({ isStranger }) => !isStranger).length
  if (count === 0 || !isOtherPlace(inventory, digest)) return []
  return [
    {
      reason: 'SourceChanged',
      message: `the manifests come from another --url or --path, or are chosen by another --ignore-file, than those in force, and ${objects(count)} of those would go`,
      remedy: `if both are to be in force, give this one a --name of its own; if the manifests have moved, read the list and give --approve ${hash}`,
    },
  ]
}

function declaredEmpty({ hash }: Spending, { declared, policy }: PlanInput): Halt[] {
  if (declared.length > 0 || policy.deletion.allowEmpty) return []
  return [
    {
      reason: 'DeclaredSetEmpty',
      message: 'the commit declares nothing at all, so everything would go',
      remedy: `check the path and the branch; if nothing is what you want, set allowEmpty or give --approve ${hash}`,
    },
  ]
}

function shrank({ before, hash, deletes }: Spending, { declared }: PlanInput): Halt[] {
  if (declared.length * 2 >= before.length || deletes.every(({ isStranger }) => isStranger)) return []
  return [
    {
      reason: 'DeclaredSetShrank',
      message: `${declared.length} of ${objects(before.length)} are still declared: a repository seldom loses more than half at once`,
      remedy: `check that the commit is whole; if it is, give --approve ${hash}`,
    },
  ]
}

function kindsLost({ before, hash, deletes }: Spending, { declared }: PlanInput): Halt[] {
  const kindOf = ({ group, kind }: Key) => (group === '' ? kind : `${kind}.${group}`)
  const left = new Set(declared.map(({ key }) => kindOf(key)))
  const going = [...new Set(deletes.flatMap(({ key, isStranger }) => (isStranger ? [] : kindOf(key))))]
  const lost = going.filter(
    (kind) => !left.has(kind) && before.filter((key) => kindOf(key) === kind).length > fewestOfKind,
  )
  return lost.sort().map((kind) => ({
    reason: 'KindLost',
    message: `no ${kind} is declared any more, and there were ${before.filter((key) => kindOf(key) === kind).length}`,
    remedy: `check that the commit is whole; if it is, give --approve ${hash}`,
  }))
}

function unreadable({ unseen }: Spending): Halt[] {
  const [first] = unseen
  if (first === undefined) return []
  const others = unseen.length === 1 ? '' : ` and ${objects(unseen.length - 1)} more`
  return [
    {
      reason: 'DiscoveryIncomplete',
      message: `whether ${keyText(first.key)}${others} is still there is not known: ${first.why}`,
      remedy: 'make the kind readable again: see that its API answers and that this identity may list it',
    },
  ]
}

function terminating({ observed, policy }: PlanInput): Halt[] {
  const going = observed.objects.filter(
    ({ key, metadata }) =>
      key.group === '' &&
      key.kind === 'Namespace' &&
      metadata.deletionTimestamp !== undefined &&
      policy.namespaces.includes(key.name),
  )
  return going.map(({ key }) => ({
    reason: 'NamespaceTerminating',
    message: `the namespace ${key.name} is being deleted`,
    remedy: 'wait until it is gone',
  }))
}

function clockWentBack({ inventory, nowMs }: PlanInput): Halt[] {
  const { verdicts, deletions, members, strangers, underway } = inventory
  const recorded = [
    ...verdicts.map(({ at }) => at),
    ...deletions,
    ...members.flatMap(({ orphanedAt }) => orphanedAt ?? []),
    ...Object.values(strangers),
    ...(underway ? [underway.since] : []),
  ]
  const times = recorded.map((at) => Date.parse(at)).filter((ms) => !Number.isNaN(ms))
  const latestMs = times.reduce((most, one) => Math.max(most, one), 0)
  if (nowMs + skewMs >= latestMs) return []
  return [
    {
      reason: 'ClockWentBack',
      message: `it is ${new Date(nowMs).toISOString()} here, and the last run wrote ${new Date(latestMs).toISOString()}`,
      remedy: 'set the clock of this machine, or wait until it has caught up',
    },
  ]
}

/** Who gave a hash believes to have agreed; it has to be said that this is another plan. */
function withStrayApproval(halt: Halt, { permits }: PlanInput): Halt {
  return { ...halt, message: `${halt.message} (--approve ${permits.approve} is for another plan)` }
}

function objects(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`
}
