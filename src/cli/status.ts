import { type Command, Option } from 'commander'
import { isOpen, isReady, resolveMax } from '../queue/index.ts'
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
      const summary = await withCluster(flags, async (client) => summarise(await readWorld(client, context.nowMs())))
      context.out(flags.output === 'json' ? `${JSON.stringify(summary, null, 2)}\n` : statusText(summary))
      if (summary.needsPerson.length > 0) context.exitCode(1)
    })
}

export interface StatusSummary {
  readonly nodes: { readonly total: number; readonly ready: number }
  readonly budget: { readonly max: number; readonly out: number; readonly withoutSlot: readonly string[] }
  readonly queue: ReturnType<typeof queueRows>
  /** Sentences about what does not go on by itself. */
  readonly needsPerson: readonly string[]
}

export function summarise(world: World): StatusSummary {
  const { nodes, budget, requests, decision } = world
  const needsPerson = requests.filter(isOpen).flatMap(({ metadata, status }) => {
    if (status?.phase === 'Held') return [`${metadata.name} is held: ${status.held?.message ?? ''}`]
    return (status?.drain?.blockedBy ?? [])
      .filter(({ neverPasses }) => neverPasses)
      .map(({ pod, pdb }) =>
        pdb
          ? `${metadata.name}: ${pod} never leaves while PodDisruptionBudget ${pdb} stays as it is`
          : `${metadata.name}: ${pod} has no controller; delete it to go on`,
      )
  })
  return {
    nodes: { total: nodes.length, ready: nodes.filter(isReady).length },
    budget: {
      max: resolveMax(budget.spec.max, nodes.length),
      out: decision.limits[0]?.out ?? 0,
      withoutSlot: decision.limits[0]?.withoutSlot ?? [],
    },
    queue: queueRows(world),
    needsPerson,
  }
}

export function statusText({ nodes, budget, queue, needsPerson }: StatusSummary): string {
  const foreign = budget.withoutSlot.length > 0 ? ` (without a slot: ${budget.withoutSlot.join(', ')})` : ''
  const shown = queue.slice(0, 6)
  const more =
    queue.length > shown.length ? `       … and ${queue.length - shown.length} more; \`fettle queue\` shows all\n` : ''
  return [
    `nodes   ${nodes.ready} of ${nodes.total} ready\n`,
    `budget  ${budget.out} of at most ${budget.max} out of service${foreign}\n`,
    queueText(shown),
    more,
    ...needsPerson.map((sentence) => `needs a person: ${sentence}\n`),
  ].join('')
}
