import { type Command, Option } from 'commander'
import type { ConnectedClient } from '../kube/index.ts'
import {
  explainKey,
  type Inventory,
  type Key,
  keyId,
  keyText,
  namedKey,
  observe,
  type Plan,
  portsOf,
  type Survey,
  type SyncState,
  survey,
  syncState,
} from '../sync/index.ts'
import { durationText } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { type MemoryFlags, withMemory } from './sync-memory.ts'
import { addSyncNameOptions, addSyncOptions, type SyncFlags, withSync } from './sync-options.ts'
import { askedOnly } from './sync-plan.ts'

type Output = { readonly output: 'text' | 'json' }

/** What a Sync did and what is true now. */
export function addSyncLookCommands(sync: Command, context: CliContext): void {
  addSyncNameOptions(sync.command('status'))
    .description(
      'what is in force, whether it is healthy, and what waits; exit code 1 when something is not as git says',
    )
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action((flags: MemoryFlags & Output) =>
      withMemory(flags, async ({ client, memory }) => {
        const state = await syncState(client, memory.inventory, context.nowMs(), context.signal)
        context.out(flags.output === 'json' ? `${JSON.stringify(state, null, 2)}\n` : stateText(state))
        const { missing, unknown, ill, last } = state
        if (missing.length + unknown.length + ill.length > 0 || isBad(last)) context.exitCode(1)
      }),
    )

  addSyncNameOptions(sync.command('history'))
    .description('the verdict on each commit, newest first')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action((flags: MemoryFlags & Output) =>
      withMemory(flags, async ({ memory: { inventory } }) => {
        const verdicts = [...inventory.verdicts].reverse()
        context.out(flags.output === 'json' ? `${JSON.stringify(verdicts, null, 2)}\n` : historyText(verdicts))
      }),
    )

  addSyncOptions(sync.command('orphans'))
    .description('what nothing declares: what is to be deleted and when, and what stays and by which rule')
    .action((flags: SyncFlags) =>
      withSync(flags, context, async (parts) => {
        const { plan } = askedOnly(await survey(portsOf(parts), parts.settings, parts.permits, context.signal))
        context.out(orphansText(plan, context.nowMs()))
      }),
    )

  addSyncOptions(sync.command('explain'))
    .description('one object: whether git declares it and where, what it is like in the cluster, and what will be done')
    .argument('<object>', 'Kind[.group]/name, or Kind[.group]/namespace/name')
    .action((text: string, flags: SyncFlags) =>
      withSync(flags, context, async (parts) => {
        const found = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        const key = keyOf(text, flags.namespace, found.catalog)
        const observed = await withObject(key, found, parts.client, context.signal)
        context.out(`${explainKey(key, { ...found, observed })}\n`)
      }),
    )
}

export function keyOf(text: string, namespaces: readonly string[], catalog: Survey['catalog']): Key {
  const key = namedKey(text, namespaces[0] ?? '', catalog)
  if ('problem' in key) throw new CliFault(key.problem)
  return key
}

/** A survey looks only where it has to. Of anything else nobody may say that it is not there. */
async function withObject(key: Key, { observed, catalog }: Survey, client: ConnectedClient, signal: AbortSignal) {
  if (observed.objects.some((object) => keyId(object.key) === keyId(key))) return observed
  const kinds = catalog
    .versionsOf(key.group, key.kind)
    .slice(0, 1)
    .map(({ resource: { group, version, kind } }) => ({
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind,
    }))
  const namespaces = key.namespace === '' ? [] : [key.namespace]
  const seen = await observe(client, catalog, { namespaces, kinds, full: [], declaredSecrets: new Set() }, signal)
  return { objects: [...observed.objects, ...seen.objects], unknown: [...observed.unknown, ...seen.unknown] }
}

/** What goes first, then what waits, then what stays. */
export function orphansText({ steps }: Pick<Plan, 'steps'>, nowMs: number): string {
  const lines = [
    ...steps.flatMap((step) => (step.do === 'delete' ? [`delete  ${keyText(step.key)}: ${step.why}`] : [])),
    ...steps.flatMap((step) =>
      step.do === 'wait' ? [`wait    ${keyText(step.key)}: ${step.why}${left(step.until, nowMs)}`] : [],
    ),
    ...steps.flatMap((step) =>
      step.do === 'keep' ? [`keep    ${keyText(step.key)}: ${step.why} (rule ${step.rule})`] : [],
    ),
  ]
  return lines.length === 0 ? 'there are none\n' : `${lines.join('\n')}\n`
}

function left(until: string | undefined, nowMs: number): string {
  return until === undefined ? '' : `; deleted in ${durationText(Math.max(0, Date.parse(until) - nowMs))}`
}

function historyText(verdicts: Inventory['verdicts']): string {
  if (verdicts.length === 0) return 'no commit was put in force yet\n'
  const lines = verdicts.map(
    ({ at, revision, is, author, subject, why }) =>
      `${at}  ${revision.slice(0, 12)}  ${is.padEnd(10)}  ${subject} (${author})${why ? `: ${why}` : ''}`,
  )
  return `${lines.join('\n')}\n`
}

function isBad(last: SyncState['last']): boolean {
  return last?.is === 'Failed' || last?.is === 'Rejected'
}

/** How long they have is said by the flags of a run. */
function strangersLine(strangers: SyncState['strangers']): string {
  const [first = ''] = strangers.map(({ since }) => since).sort()
  const who = strangers.length === 1 ? '1 stranger is' : `${strangers.length} strangers are`
  return `${who} counted down, the first since ${first}; \`fettle sync orphans\` names them`
}

export function stateText(state: SyncState): string {
  const { revision, last, members, healthy, missing, unknown, ill, waiting, strangers, underway } = state
  // A commit that failed is not the one in force.
  const isOther = last?.revision !== revision
  const subject = last && !isOther ? ` ${last.subject}` : ''
  const of = last && isOther ? ` of ${last.revision.slice(0, 12)} ${last.subject}` : ''
  return [
    revision ? `in force: ${revision.slice(0, 12)}${subject}` : 'no commit is in force yet',
    ...(last ? [`last verdict: ${last.is}${of} at ${last.at}${last.why ? `: ${last.why}` : ''}`] : []),
    ...(underway ? [`under way, or cut short, since ${underway.since}; the next run goes on`] : []),
    `${members} objects, ${healthy} healthy`,
    ...missing.map((key) => `missing: ${keyText(key)}`),
    ...unknown.map(({ key, why }) => `cannot be read: ${keyText(key)}: ${why}`),
    ...ill.map(({ key, health }) => `${health.is}: ${keyText(key)}: ${health.message}`),
    ...waiting.map(({ key, since }) => `orphan: ${keyText(key)}, since ${since}`),
    ...(strangers.length > 0 ? [strangersLine(strangers)] : []),
    '',
  ].join('\n')
}
