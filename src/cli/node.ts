import type { Command } from 'commander'
import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { isOpen } from '../queue/index.ts'
import { askForNode } from './ask-for-node.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { addDrainOptions, type DrainOptions } from './drain-options.ts'
import { followRequest } from './follow-request.ts'
import { addDrainCommand } from './node-drain.ts'
import { addHistoryCommand } from './node-history.ts'
import { addRebootCommand } from './node-reboot.ts'
import { addVerbCommands } from './node-verb.ts'

interface MaintainFlags extends ClusterFlags, DrainOptions {
  readonly reason: string
  readonly priority: number
  readonly bypassWindow?: string
  readonly wait: boolean
}

/** `fettle node …`: a person takes a node out of service and gives it back. */
export function addNodeCommands(program: Command, context: CliContext): void {
  const node = program.command('node').description('take a node out of service, and give it back')

  addDrainOptions(addClusterOptions(node.command('maintain')))
    .description('ask for a node: it is cordoned and drained when it is its turn')
    .argument('<node>')
    .requiredOption('--reason <text>', 'why; shown everywhere')
    .option('--priority <number>', 'higher goes first', readPriority, 0)
    .option(
      '--bypass-window <reason>',
      'claim it though its windows are closed; freezes, blockers and the budget still count',
      readBypass,
    )
    .option('--no-wait', 'do not follow the request until the node is ready for the work')
    .action(async (name: string, flags: MaintainFlags) => {
      await withCluster(flags, async (client) => {
        const request = await askForNode(client, name, { ...flags, work: 'External' })
        context.out(`${request.metadata.name}: asked for ${name}\n`)
        if (flags.wait) await followRequest(client, request, 'Granted', context)
      })
    })

  addClusterOptions(node.command('return'))
    .description('the work is done: the node gets back the state it had')
    .argument('<node>')
    .option('--no-wait', 'do not follow until the node is back')
    .action(async (name: string, flags: ClusterFlags & { readonly wait: boolean }) => {
      await withCluster(flags, async (client) => {
        const all = await listAll<MaintenanceRequest>(client, maintenanceRequests).catch(notInstalled)
        const mine = all.filter(
          (request) => isOpen(request) && request.spec.nodeName === name && request.spec.source.kind === 'Person',
        )
        if (mine.length === 0)
          throw new CliFault(
            `nobody has asked for ${name}, or it is back already; \`fettle queue\` shows who asks for what`,
          )
        for (const request of mine) {
          const ref = { name: request.metadata.name ?? '' }
          const body = { metadata: { uid: request.metadata.uid }, spec: { want: 'Return' } }
          const returned = await client.patch<MaintenanceRequest>(
            maintenanceRequests,
            ref,
            { type: 'merge', body },
            { fieldManager: 'fettle-cli' },
          )
          if (flags.wait) await followRequest(client, returned, 'Done', context)
          else context.out(`${ref.name}: ${name} goes back\n`)
        }
      })
    })

  addRebootCommand(node, context)
  addDrainCommand(node, context)
  addVerbCommands(node, context)
  addHistoryCommand(node, context)
}

/** An empty reason would be taken for none, and the request would wait for its window. */
function readBypass(text: string): string {
  if (text.trim() === '' || text.length > 256)
    throw new CliFault('--bypass-window: say in 1 to 256 characters why it cannot wait')
  return text
}

function readPriority(text: string): number {
  const value = Number(text)
  if (!/^-?\d+$/.test(text) || Math.abs(value) > 1000)
    throw new CliFault(`--priority: '${text}' is not a whole number from -1000 to 1000`)
  return value
}
