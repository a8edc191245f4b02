import { type Command, Option } from 'commander'
import type { MaintenanceRequest } from '../api/index.ts'
import { inOrder, isOpen } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { requestText } from './follow-request.ts'
import { readWorld, type World } from './world.ts'

/** `fettle queue`: who is out, who waits, in which order and why. */
export function addQueueCommand(program: Command, context: CliContext): void {
  addClusterOptions(program.command('queue'))
    .description('who is out of service, who waits for whom, and why')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (flags: ClusterFlags & { readonly output: string }) => {
      const rows = await withCluster(flags, async (client) => queueRows(await readWorld(client, context.nowMs())))
      context.out(flags.output === 'json' ? `${JSON.stringify(rows, null, 2)}\n` : queueText(rows))
    })
}

export interface QueueRow {
  readonly request: string
  readonly node: string
  readonly phase: string
  /** 1 is next; null for those that are out. */
  readonly position: number | null
  readonly reason: string
  readonly text: string
}

/** The line as it is now: positions are computed here, those in the objects may be some minutes old. */
export function queueRows({ requests, decision }: World): QueueRow[] {
  const open = inOrder(requests.filter(isOpen))
  const rows = open.map((request) => rowOf(request, decision.waiting.get(request.metadata.name ?? '')))
  return rows.sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
}

function rowOf(
  request: MaintenanceRequest,
  waiting: World['decision']['waiting'] extends ReadonlyMap<string, infer W> ? W | undefined : never,
): QueueRow {
  const isQueued = (request.status?.phase ?? 'Queued') === 'Queued'
  const text = isQueued && waiting ? `${request.spec.nodeName}: ${waiting.message}` : requestText(request)
  return {
    request: request.metadata.name ?? '',
    node: request.spec.nodeName,
    phase: request.status?.phase ?? 'New',
    position: isQueued ? (waiting?.position ?? 0) : null,
    reason: request.spec.reason,
    text,
  }
}

export function queueText(rows: readonly QueueRow[]): string {
  if (rows.length === 0) return 'nobody asks for a node\n'
  return rows
    .map(
      ({ position, phase, text, reason }) =>
        `${position === null ? '  out' : String(position).padStart(5)}  ${phase.padEnd(10)} ${text} [${reason}]\n`,
    )
    .join('')
}
