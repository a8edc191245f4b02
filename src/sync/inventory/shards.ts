import { createHash } from 'node:crypto'
import type { Inventory, Member } from '../inventory-record.ts'
import { compareKeys, keyId } from '../key.ts'
import { packed, type ShardContent, shardText } from './record-text.ts'

/** One that grows beyond this is split. */
export const mostShardBytes = 200_000
/** How full shards are after a split, so that the next one is far away. */
const goodShare = 0.5
/** Of a member's text, once it is packed: its hashes and its UID hardly shrink. */
const packedShare = 0.45

/** A shard as it is stored. */
export interface StoredShard {
  readonly text: string
  readonly content: ShardContent
}

/** A text to store, over whatever the shard holds. */
export interface ShardWrite {
  readonly index: number
  readonly text: string
  readonly content: ShardContent
}

export interface ShardPlan {
  readonly count: number
  /** Those of one round may be written in any order; rounds may not. */
  readonly rounds: readonly (readonly ShardWrite[])[]
}

/** Always the same one while the count is the same: a change of one member is a change of one shard. */
export function shardOf(id: string, count: number): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % count
}

/**
 * Which shards to write, and in which order, so that whatever is stored after any of the writes holds every member that
 * was there before and is to stay: first what comes in, then what goes away. What goes may stand there longer; what
 * stays is never nowhere.
 */
export function planShards(
  stored: ReadonlyMap<number, StoredShard>,
  storedCount: number,
  next: Inventory,
  mostBytes: number = mostShardBytes,
): ShardPlan {
  const { count, wanted } = arrange(stored, storedCount, next, mostBytes)
  const changes = [...wanted].filter(({ index, text }) => stored.get(index)?.text !== text)
  const compared = changes.map((write) => ({ write, ...comparedWith(stored.get(write.index)?.content, write.content) }))
  const isOneRoundEnough = changes.length === 1 || compared.every(({ hasNew }) => !hasNew)
  if (isOneRoundEnough) return { count, rounds: changes.length === 0 ? [] : [changes] }
  const first = compared.flatMap(({ write, hasNew, leaving }): ShardWrite[] => {
    if (leaving.length === 0) return [write]
    if (!hasNew) return []
    const content = { ...write.content, members: sorted([...write.content.members, ...leaving]) }
    return [{ index: write.index, content, text: shardText(content) }]
  })
  const second = compared.filter(({ leaving }) => leaving.length > 0).map(({ write }) => write)
  return { count, rounds: [first, second].filter((round) => round.length > 0) }
}

function comparedWith(before: ShardContent | undefined, after: ShardContent) {
  const ids = new Set(after.members.map(({ key }) => keyId(key)))
  const leaving = (before?.members ?? []).filter(({ key }) => !ids.has(keyId(key)))
  const hasNew = ids.size > (before?.members.length ?? 0) - leaving.length
  return { leaving, hasNew }
}

/** The count only grows, and doubles: half of each shard stays where it is. */
function arrange(stored: ReadonlyMap<number, StoredShard>, storedCount: number, next: Inventory, mostBytes: number) {
  const isEmpty = next.members.length === 0 && Object.keys(next.strangers).length === 0
  let count = storedCount
  if (count === 0 && !isEmpty) count = countFor(shardText(next).length, mostBytes)
  for (;;) {
    const wanted = spread(next, count, stored)
    const isTooLarge = ({ index, text }: ShardWrite) =>
      stored.get(index)?.text !== text && text.length > mostBytes && packed(text).length > mostBytes
    // One member alone cannot be split.
    const isSplittable = ({ content }: ShardWrite) => content.members.length + Object.keys(content.strangers).length > 1
    if (!wanted.some((write) => isTooLarge(write) && isSplittable(write))) return { count, wanted }
    count = Math.max(2 * count, countFor(shardText(next).length, mostBytes))
  }
}

function countFor(textLength: number, mostBytes: number): number {
  let count = 1
  while (count * mostBytes * goodShare < textLength * packedShare) count *= 2
  return count
}

/** Shards beyond the count are what a split that did not end left behind; they are emptied. */
function spread(next: Inventory, count: number, stored: ReadonlyMap<number, StoredShard>): readonly ShardWrite[] {
  const indexes = new Set([...Array.from({ length: count }, (_, index) => index), ...stored.keys()])
  const members = new Map<number, Member[]>([...indexes].map((index) => [index, []]))
  const strangers = new Map<number, Record<string, string>>([...indexes].map((index) => [index, {}]))
  for (const member of next.members) members.get(shardOf(keyId(member.key), count))?.push(member)
  for (const [uid, since] of Object.entries(next.strangers)) {
    const shard = strangers.get(shardOf(uid, count))
    if (shard) shard[uid] = since
  }
  return [...indexes].map((index) => {
    const content = { members: sorted(members.get(index) ?? []), strangers: strangers.get(index) ?? {} }
    return { index, content, text: shardText(content) }
  })
}

/** What all shards say together. Of two records of one member, which only a split leaves behind, its own shard's counts. */
export function gathered(stored: ReadonlyMap<number, StoredShard>, count: number): ShardContent {
  const members = new Map<string, Member>()
  const strangers: Record<string, string> = {}
  for (const [index, { content }] of stored) {
    for (const member of content.members) {
      const id = keyId(member.key)
      if (!members.has(id) || shardOf(id, Math.max(count, 1)) === index) members.set(id, member)
    }
    for (const [uid, since] of Object.entries(content.strangers)) {
      // The later time: a countdown rather begins anew than ends too early.
      if ((strangers[uid] ?? '') < since) strangers[uid] = since
    }
  }
  const inOrder = [...members].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, member]) => member)
  return { members: inOrder, strangers }
}

function sorted(members: readonly Member[]): readonly Member[] {
  return members.toSorted((one, other) => compareKeys(one.key, other.key))
}
