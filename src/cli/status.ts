import { type Command, Option } from 'commander'
import type { MaintenanceRequest } from '../api/index.ts'
import { freezeText, isOpen, isReady, shortTime, viewFreezes } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { queueRows, queueText } from './queue.ts'
import { readWorld, type World } from './world.ts'

/** `fettle status`: what is true, what waits and why, in ten lines. */
export function addStatusCommand(program: Command, context: CliContext): void {
  addClusterOptions(program.command('status'))
    .description('what is true, what waits and why; exit code 1 when a person is needed')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (flags: ClusterFlags & { readonly output: string }) => {
      const nowMs = context.nowMs()
      const summary = await withCluster(flags, async (client) => summarise(await readWorld(client, nowMs), nowMs))
      context.out(flags.output === 'json' ? `${JSON.stringify(summary, null, 2)}\n` : statusText(summary))
      if (summary.needsPerson.length > 0) context.exitCode(1)
    })
}

export interface StatusSummary {
  readonly nodes: { readonly total: number; readonly ready: number }
  readonly budget: { readonly max: number; readonly out: number; readonly withoutSlot: readonly string[] }
  /** Why no node at all is claimed; null when nothing is frozen. */
  readonly frozen: string | null
  /** Windows that somebody waits for, or could. */
  readonly closedWindows: readonly string[]
  readonly queue: ReturnType<typeof queueRows>
  /** Sentences about what does not go on by itself. */
  readonly needsPerson: readonly string[]
}

export function summarise(world: World, nowMs: number): StatusSummary {
  const { nodes, requests, decision } = world
  const needsPerson = requests.filter(isOpen).flatMap(whatNeedsPerson)
  const cluster = decision.next.limits?.[0]
  return {
    nodes: { total: nodes.length, ready: nodes.filter(isReady).length },
    budget: {
      max: cluster?.max ?? 0,
      out: cluster?.out ?? 0,
      withoutSlot: cluster?.withoutSlot ?? [],
    },
    frozen: freezeText(viewFreezes(world.freezes, nowMs)) ?? null,
    closedWindows: closedWindows(world),
    queue: queueRows(world),
    needsPerson,
  }
}

function whatNeedsPerson({ metadata: { name }, status }: MaintenanceRequest): string[] {
  if (status?.phase === 'Held')
    return [`${name} is held, ${status.held?.reason ?? ''}: ${status.held?.message ?? ''}; ${status.held?.next ?? ''}`]
  const refused = status?.conditions?.find(({ type }) => type === 'NodeRefused')
  if (refused) return [`${name}: the API server refuses to change its node: ${refused.message}`]
  // What is left over from a drain that has ended keeps nobody waiting.
  if (status?.phase !== 'Claimed') return []
  const blockedBy = status.drain?.blockedBy ?? []
  const said = status.conditions?.find(({ type, reason }) => type === 'Drained' && reason === 'Blocked')
  return blockedBy.flatMap(({ pod, pdb, neverPasses }, index) => {
    if (!neverPasses) return []
    if (pdb) return [`${name}: ${pod} never leaves while PodDisruptionBudget ${pdb} stays as it is`]
    // The drain gives the reason of its first pod only. Another pod may have another one, and its data may be lost by a guess.
    return index === 0 && said
      ? [`${name}: ${pod} cannot leave: ${said.message}`]
      : [`${name}: ${pod} cannot leave; \`fettle explain ${name}\` says why`]
  })
}

/** As the controller wrote it into them: it reads their calendars, which a person may not be able to. */
function closedWindows({ budget, requests, windows }: World): string[] {
  const used = [
    ...(budget.spec.defaults?.windows ?? []),
    ...requests.filter(isOpen).flatMap(({ spec }) => spec.windows ?? []),
  ]
  return [...new Set(used)].flatMap((name) => {
    const window = windows.find(({ metadata }) => metadata.name === name)
    if (!window) return [`${name} does not exist, and so every list that names it is closed`]
    if (window.status?.open) return []
    const opens = window.status?.next?.[0]?.start
    return [`${name} is closed${opens === undefined ? '' : ` until ${shortTime(opens)}`}`]
  })
}

export function statusText({ nodes, budget, frozen, closedWindows, queue, needsPerson }: StatusSummary): string {
  const foreign = budget.withoutSlot.length > 0 ? ` (without a slot: ${budget.withoutSlot.join(', ')})` : ''
  const shown = queue.slice(0, 6)
  const more =
    queue.length > shown.length ? `       … and ${queue.length - shown.length} more; \`fettle queue\` shows all\n` : ''
  return [
    `nodes   ${nodes.ready} of ${nodes.total} ready\n`,
    `budget  ${budget.out} of at most ${budget.max} out of service${foreign}\n`,
    ...(frozen === null ? [] : [`frozen  ${frozen}\n`]),
    ...(closedWindows.length === 0 ? [] : [`windows ${closedWindows.join('; ')}\n`]),
    queueText(shown),
    more,
    ...needsPerson.map((sentence) => `needs a person: ${sentence}\n`),
  ].join('')
}
