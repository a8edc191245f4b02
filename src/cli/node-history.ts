import { type Command, Option } from 'commander'
import { type MaintenanceRequest, maintenanceRequests, type Phase } from '../api/index.ts'
import { isOpen, shortTime } from '../queue/index.ts'
import { durationText } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'

/** `fettle node history`: every request that is still known of a node, with what became of it. */
export function addHistoryCommand(node: Command, context: CliContext): void {
  addClusterOptions(node.command('history'))
    .description('every request for a node, oldest first: who asked, how long it took, how it ended')
    .argument('<node>')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (name: string, flags: ClusterFlags & { readonly output: string }) => {
      const entries = await withCluster(flags, async (client) => {
        const requests = await listAll<MaintenanceRequest>(client, maintenanceRequests).catch(notInstalled)
        return historyOf(requests, name, context.nowMs())
      })
      if (entries.length === 0)
        throw new CliFault(`nobody has asked for ${name}, as far as is known; \`kubectl get nodes\` lists nodes`)
      context.out(flags.output === 'json' ? `${JSON.stringify(entries, null, 2)}\n` : historyText(entries))
    })
}

type Line = NonNullable<NonNullable<MaintenanceRequest['status']>['history']>[number]

export interface HistoryEntry {
  readonly request: string
  readonly node: string
  /** A new node of the same name is another node. */
  readonly nodeUID: string
  readonly askedAt: string
  readonly askedBy: string
  readonly reason: string
  readonly phase: Phase
  /** Null while it is open. */
  readonly outcome: string | null
  /** Time spent in each phase, in the order in which they came first. */
  readonly phases: readonly { readonly phase: Phase; readonly ms: number }[]
  readonly lines: readonly Line[]
}

/** Oldest first. What is still open counts until now. */
export function historyOf(requests: readonly MaintenanceRequest[], node: string, nowMs: number): HistoryEntry[] {
  return requests
    .filter(({ spec }) => spec.nodeName === node)
    .map((request) => {
      const { metadata, spec, status } = request
      return {
        request: metadata.name ?? '',
        node,
        nodeUID: spec.nodeUID,
        askedAt: metadata.creationTimestamp ?? '',
        askedBy: askedBy(request),
        reason: spec.reason,
        phase: status?.phase ?? 'Queued',
        outcome: isOpen(request) ? null : (status?.outcome ?? 'Done'),
        phases: phaseTimes(status?.history ?? [], nowMs),
        lines: status?.history ?? [],
      }
    })
    .sort((a, b) => (a.askedAt < b.askedAt ? -1 : a.askedAt > b.askedAt ? 1 : a.request < b.request ? -1 : 1))
}

/** The person's name as the cluster knows it, else what the request says of itself. */
export function askedBy({ spec: { source, requestedBy } }: MaintenanceRequest): string {
  return source.kind === 'Person' ? (requestedBy ?? source.key) : `${source.kind} ${source.key}`
}

function phaseTimes(lines: readonly Line[], nowMs: number): HistoryEntry['phases'] {
  const spent = new Map<Phase, number>()
  for (const [index, line] of lines.entries()) {
    // Between a folded line and the next one lie phases that nobody remembers.
    if (line.phase === 'Done' || line.count !== undefined) continue
    const end = lines[index + 1]?.time
    const ms = (end === undefined ? nowMs : Date.parse(end)) - Date.parse(line.time)
    spent.set(line.phase, (spent.get(line.phase) ?? 0) + Math.max(0, ms))
  }
  return [...spent].map(([phase, ms]) => ({ phase, ms }))
}

export function historyText(entries: readonly HistoryEntry[]): string {
  const [first] = entries
  const isReborn = entries.some(({ nodeUID }) => nodeUID !== first?.nodeUID)
  return entries
    .map((entry) => {
      const uid = isReborn ? `, node with UID ${entry.nodeUID}` : ''
      const times = entry.phases.map(({ phase, ms }) => `${phase} ${durationText(ms)}`).join(', ')
      return [
        `${entry.request}  ${entry.outcome ?? `${entry.phase}, not over`}\n`,
        `  asked ${shortTime(entry.askedAt)} by ${entry.askedBy}: ${entry.reason}${uid}\n`,
        times ? `  took ${times}\n` : '',
        ...entry.lines.map(lineText),
      ].join('')
    })
    .join('')
}

function lineText({ time, phase, message, by }: Line): string {
  return `    ${shortTime(time)}  ${phase.padEnd(10)} ${message}${by ? ` (${by})` : ''}\n`
}
