import type { Command } from 'commander'
import { askForNode } from './ask-for-node.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { addDrainOptions, type DrainOptions } from './drain-options.ts'
import { followRequest, untilRebooted } from './follow-request.ts'
import { addReasonOption } from './node-verb.ts'

interface RebootFlags extends ClusterFlags, DrainOptions {
  readonly reason: string
  readonly wait: boolean
}

/** `fettle node reboot NODE`: the node is drained when it is its turn, its agent reboots it, and it is given back. */
export function addRebootCommand(node: Command, context: CliContext): void {
  addDrainOptions(addReasonOption(addClusterOptions(node.command('reboot'))))
    .description('ask for a reboot: the node is drained when it is its turn, rebooted by its agent, and given back')
    .argument('<node>')
    .option('--no-wait', 'do not follow the request until the node is back')
    .action(async (name: string, flags: RebootFlags) => {
      await withCluster(flags, async (client) => {
        const request = await askForNode(client, name, { ...flags, work: 'Reboot', priority: 0 })
        context.out(`${request.metadata.name}: asked for a reboot of ${name}\n`)
        if (flags.wait) await followRequest(client, request, untilRebooted, context)
      })
    })
}
