import type { Command } from 'commander'
import { askForNode } from './ask-for-node.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { addDrainOptions, type DrainOptions } from './drain-options.ts'
import { followRequest, untilGranted } from './follow-request.ts'
import { addDrainCommand } from './node-drain.ts'
import { addHistoryCommand } from './node-history.ts'
import { addRebootCommand } from './node-reboot.ts'
import { addReturnCommand } from './node-return.ts'
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
        if (flags.wait) await followRequest(client, request, untilGranted, context)
      })
    })

  addReturnCommand(node, context)
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
