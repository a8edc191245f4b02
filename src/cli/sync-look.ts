import { type Command, Option } from 'commander'
import {
  explainKey,
  type Inventory,
  type Key,
  keyText,
  namedKey,
  portsOf,
  type Survey,
  type SyncState,
  survey,
  syncState,
} from '../sync/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { type MemoryFlags, withMemory } from './sync-memory.ts'
import { addSyncNameOptions, addSyncOptions, type SyncFlags, withSync } from './sync-options.ts'

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
        if (state.missing.length + state.ill.length > 0 || isBad(state.last)) context.exitCode(1)
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
        const { plan } = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        const lines = plan.steps.flatMap((step) => {
          if (step.do === 'delete') return [`delete  ${keyText(step.key)}: ${step.why}`]
          if (step.do === 'wait')
            return [`wait    ${keyText(step.key)}: ${step.why}${step.until ? ` (${step.until})` : ''}`]
          return step.do === 'keep' ? [`keep    ${keyText(step.key)}: ${step.why} (rule ${step.rule})`] : []
        })
        context.out(lines.length === 0 ? 'there are none\n' : `${lines.join('\n')}\n`)
      }),
    )

  addSyncOptions(sync.command('explain'))
    .description('one object: whether git declares it and where, what it is like in the cluster, and what will be done')
    .argument('<object>', 'Kind[.group]/name, or Kind[.group]/namespace/name')
    .action((text: string, flags: SyncFlags) =>
      withSync(flags, context, async (parts) => {
        const found = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        context.out(`${explainKey(keyOf(text, flags.namespace, found.catalog), found)}\n`)
      }),
    )
}

export function keyOf(text: string, namespaces: readonly string[], catalog: Survey['catalog']): Key {
  const key = namedKey(text, namespaces[0] ?? '', catalog)
  if ('problem' in key) throw new CliFault(key.problem)
  return key
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

export function stateText(state: SyncState): string {
  const { revision, last, members, healthy, missing, ill, waiting, underway } = state
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
    ...ill.map(({ key, health }) => `${health.is}: ${keyText(key)}: ${health.message}`),
    ...waiting.map(({ key, since }) => `orphan: ${keyText(key)}, since ${since}`),
    '',
  ].join('\n')
}
