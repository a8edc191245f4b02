import * as z from 'zod'
import { states } from '../names.ts'

/**
 * What Fettle itself has to remember of a node, in annotations of its own: the original refuses data that it does not
 * know. Written in the same patch as what it is about.
 */
export const progressAnnotation = 'fettle.dev/profile-progress'
export const historyAnnotation = 'fettle.dev/profile-history'

const state = z.enum(states)
const time = z.iso.datetime()

const inFlight = z.object({
  from: state,
  next: state,
  /** Which of the transitions in `from` it is. By what it does, and not by its place: the file may change meanwhile. */
  check: z.string(),
  triggers: z.array(z.string()),
  /** How many of the triggers are done. */
  trigger: z.int().min(0),
  since: time,
  /** When the profile came into `from`: if that is another time now, somebody else took it away and back meanwhile. */
  fromSinceMs: z.number().optional(),
  /** What its checks found free is taken. */
  isTaken: z.boolean().default(true),
  /** The checks that found something free; before this was noted, all that can take something. */
  toTake: z.array(z.string()).optional(),
  /** What the checks said, if some are asked again: those for a label that this one takes, and does not show yet. */
  answers: z.array(z.boolean()).optional(),
})

const pending = z.object({
  profile: z.string(),
  instance: z.string(),
  state,
  previous: state,
  at: time,
  /** When the profile came into `state`, as it is stored: what is sent late still tells of its own moment. */
  transition: z.string().optional(),
  /** Whether any profile had the node in maintenance then. */
  isInMaintenance: z.boolean().optional(),
})

const progress = z.object({
  /** Transitions whose checks passed and whose triggers are not all done, by profile. */
  inFlight: z.record(z.string(), inFlight).default({}),
  /** When an abort began whose triggers are not all done, by profile. */
  aborting: z.record(z.string(), time).default({}),
  /** Messages that are due and were not sent yet. */
  pending: z.array(pending).default([]),
  /** When messages were sent last, by profile and instance. */
  sent: z.record(z.string(), z.record(z.string(), time)).default({}),
})

/** An abort may come from a state that nobody knows. */
const entry = z.object({ at: time, profile: z.string(), from: z.string(), to: state, why: z.string() })

const history = z.array(entry)

export type InFlight = z.output<typeof inFlight>
export type Pending = z.output<typeof pending>
export type Progress = z.output<typeof progress>
/** A transition that was stored: which checks let it through, or who aborted it. */
export type HistoryEntry = z.output<typeof entry>

const keptEntries = 20

export function readProgress(text: string | undefined): Progress {
  return progress.safeParse(json(text)).data ?? progress.parse({})
}

/** Nothing when there is nothing to remember. */
export function writeProgress({ inFlight, aborting, pending, sent }: Progress): string | undefined {
  const kept = {
    ...(Object.keys(inFlight).length > 0 ? { inFlight } : {}),
    ...(Object.keys(aborting).length > 0 ? { aborting } : {}),
    ...(pending.length > 0 ? { pending } : {}),
    ...(Object.keys(sent).length > 0 ? { sent } : {}),
  }
  return Object.keys(kept).length === 0 ? undefined : JSON.stringify(kept)
}

/** What is left when nobody of ours goes on with it: when messages were sent, so that they are not sent again. */
export function withoutWays(text: string | undefined): string | undefined {
  return writeProgress({ ...progress.parse({}), sent: readProgress(text).sent })
}

/** Newest first. */
export function readHistory(text: string | undefined): readonly HistoryEntry[] {
  return history.safeParse(json(text)).data ?? []
}

export function addHistory(text: string | undefined, added: readonly HistoryEntry[]): string {
  return JSON.stringify([...[...added].reverse(), ...readHistory(text)].slice(0, keptEntries))
}

/** What a person broke counts as nothing: it is only memory, and the next write mends it. */
function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '{}')
  } catch {
    return undefined
  }
}
