import type { Command } from 'commander'
import { askForNode } from './ask-for-node.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { followRequest } from './follow-request.ts'
import { addReasonOption } from './node-verb.ts'

interface RebootFlags extends ClusterFlags {
  readonly reason: string
  readonly wait: boolean
}

/** `fettle node reboot NODE`: the node is drained when it is its turn, its agent reboots it, and it is given back. */
export function addRebootCommand(node: Command, context: CliContext): void {
  addReasonOption(addClusterOptions(node.command('reboot')))
    .description('ask for a reboot: the node is drained when it is its turn, rebooted by its agent, and given back')
    .argument('<node>')
    .option('--no-wait', 'do not follow the request until the node is back')
    .action(async (name: string, flags: RebootFlags) => {
      await withCluster(flags, async (client) => {
        const request = await askForNode(client, name, { reason: flags.reason, work: 'Reboot', priority: 0 })
        context.out(`${request.metadata.name}: asked for a reboot of ${name}\n`)
        if (flags.wait) await followRequest(client, request, 'Done', context)
      })
    })
}
