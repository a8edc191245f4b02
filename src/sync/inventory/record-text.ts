import { gunzipSync, gzipSync } from 'node:zlib'
import * as z from 'zod'
import type { Inventory, Member, Verdict } from '../inventory-record.ts'

/** What one shard holds. */
export interface ShardContent {
  readonly members: readonly Member[]
  readonly strangers: Readonly<Record<string, string>>
}

/** What the parent holds: all that is small. */
export interface ParentState {
  readonly format: number
  readonly sync: string
  /** The token of the writer that wrote it last. */
  readonly epoch: number
  /** So many shards there are; one that is missing was taken away. */
  readonly shards: number
  readonly facts: InventoryFacts
}

export type InventoryFacts = Omit<Inventory, 'members' | 'strangers'>

export const currentFormat = 1
const mostVerdicts = 100
const dayMs = 86_400_000
/** Beyond all that is ever written: what grows larger when it is unpacked was made to do so. */
const mostBytes = 64 * 1024 * 1024

// Loose: a field that a later version adds is kept by an earlier one.
const memberSchema = z.looseObject({
  key: z.object({
    group: z.string(),
    kind: z.string().min(1),
    namespace: z.string(),
    name: z.string().min(1),
  }),
  uid: z.string().min(1).optional(),
  apiVersion: z.string().min(1),
  reference: z
    .looseObject({
      bodyHash: z.string(),
      setHash: z.string(),
      valueHash: z.string(),
      existsOnly: z.array(z.string()),
    })
    .optional(),
  from: z.looseObject({ path: z.string(), document: z.number(), line: z.number() }).optional(),
  revision: z.string().optional(),
  orphanedAt: z.string().optional(),
  isKept: z.literal(true).optional(),
})

const shardSchema = z.object({
  members: z.array(memberSchema),
  strangers: z.record(z.string(), z.string()),
})

const stateSchema = z.object({
  format: z.number(),
  sync: z.string(),
  epoch: z.int().min(0),
  shards: z.int().min(0),
  facts: z.looseObject({
    verdicts: z.array(
      z.looseObject({
        revision: z.string(),
        author: z.string(),
        subject: z.string(),
        is: z.enum(['Applied', 'NoChange', 'Failed', 'Rejected', 'Superseded']),
        why: z.string().optional(),
        at: z.string(),
        seconds: z.number().optional(),
        planHash: z.string().optional(),
        counts: z.record(z.string(), z.number()).optional(),
      }),
    ),
    revision: z.string().optional(),
    digest: z.string().optional(),
    approvals: z.array(z.string()),
    openingHash: z.string().optional(),
    deletions: z.array(z.string()),
    underway: z.looseObject({ planHash: z.string(), revision: z.string(), since: z.string() }).optional(),
  }),
})

/** The same content always has the same text, so that what did not change is not written. */
export function shardText({ members, strangers }: ShardContent): string {
  return JSON.stringify({
    members: members.map(inOrder),
    strangers: Object.fromEntries(Object.entries(strangers).sort(([one], [other]) => (one < other ? -1 : 1))),
  })
}

function inOrder({ key, uid, apiVersion, reference, from, revision, orphanedAt, isKept, ...rest }: Member): object {
  const { group, kind, namespace, name } = key
  const ordered = { group, kind, namespace, name }
  return { key: ordered, uid, apiVersion, reference, from, revision, orphanedAt, isKept, ...rest }
}

export function stateText({ format, sync, epoch, shards, facts }: ParentState): string {
  return JSON.stringify({ format, sync, epoch, shards, facts: bounded(facts) })
}

/** Lists that grow with every commit end somewhere, and so do texts that others write. */
function bounded({ verdicts, revision, digest, approvals, openingHash, deletions, underway, ...rest }: InventoryFacts) {
  const newest = Date.parse(deletions.at(-1) ?? '')
  return {
    verdicts: verdicts.slice(-mostVerdicts).map(shortened),
    revision,
    digest,
    approvals: approvals.slice(-mostVerdicts),
    openingHash,
    deletions: deletions.filter((at) => !(newest - Date.parse(at) > dayMs)),
    underway,
    ...rest,
  }
}

function shortened({ author, subject, why, ...rest }: Verdict): Verdict {
  return {
    ...rest,
    author: cut(author, 200),
    subject: cut(subject, 300),
    ...(why === undefined ? {} : { why: cut(why, 2_000) }),
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** The time in the header would make equal texts differ; Node leaves it out. */
export function packed(text: string): Buffer {
  return gzipSync(text)
}

export function unpacked(bytes: Buffer): string {
  return gunzipSync(bytes, { maxOutputLength: mostBytes }).toString('utf8')
}

/** Answers what it says, or where it says something else than it should. */
export function readShard(text: string): ShardContent | { readonly problem: string } {
  const read = readJson(text, shardSchema)
  // JSON has no undefined: what zod calls optional is absent, as the type says.
  return 'problem' in read ? read : (read.value as ShardContent)
}

export function readState(text: string): ParentState | { readonly problem: string } {
  const format = readJson(text, z.looseObject({ format: z.number() }))
  if ('problem' in format) return format
  // The rest of a newer format is none of our business.
  if (format.value.format > currentFormat) return { ...emptyState, format: format.value.format }
  const read = readJson(text, stateSchema)
  return 'problem' in read ? read : (read.value as ParentState)
}

/** Of a Sync that has done nothing yet. */
export const emptyState: ParentState = {
  format: currentFormat,
  sync: '',
  epoch: 0,
  shards: 0,
  facts: { verdicts: [], approvals: [], deletions: [] },
}

function readJson<T>(text: string, schema: z.ZodType<T>): { readonly value: T } | { readonly problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'it is no JSON' }
  }
  const { success, data, error } = schema.safeParse(value)
  if (success) return { value: data }
  const [issue] = error.issues
  return { problem: `at ${issue?.path.join('.') || 'its root'}: ${issue?.message ?? 'it is something else'}` }
}
