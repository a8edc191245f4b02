import { hostname } from 'node:os'
import type { Command } from 'commander'
import { type AgentSettings, addAgentCommand } from './agent.ts'
import { addClusterOptions, type ClusterFlags } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { defaultHttpHost, logLevel, wholeNumber } from './options.ts'

/** What `fettle controller` and `fettle agent` start; composed in main. */
export interface Programs {
  readonly controller: (settings: ControllerSettings, signal: AbortSignal) => Promise<void>
  readonly agent: (settings: AgentSettings, signal: AbortSignal) => Promise<void>
}

export interface ControllerSettings extends ClusterFlags {
  readonly namespace: string
  readonly identity: string
  readonly leaseName: string
  readonly leaseSeconds: number
  readonly httpHost: string
  readonly httpPort: number
  readonly logLevel: string
}

/** `fettle controller` and `fettle agent`: the programs that run in the cluster. */
export function addProgramCommands(program: Command, context: CliContext, programs: Programs): void {
  const env = process.env
  addClusterOptions(program.command('controller'))
    .description('run the controller; in a cluster its Deployment does this')
    .option('--namespace <name>', 'where the leader lease is', env['POD_NAMESPACE'] ?? 'fettle-system')
    .option('--lease-name <name>', 'name of the leader lease', 'fettle-controller')
    .option(
      '--lease-seconds <count>',
      'how long after its last sign of life a leader is replaced',
      wholeNumber(3, 600),
      15,
    )
    .option('--http-host <address>', 'where to serve /healthz, /readyz and /metrics', defaultHttpHost())
    .option('--http-port <port>', 'and on which port', wholeNumber(0, 65_535), 8080)
    .addOption(logLevel())
    .action(async (flags: Omit<ControllerSettings, 'identity'>) => {
      await programs.controller(
        { ...flags, identity: env['POD_NAME'] ?? `${hostname()}-${process.pid}` },
        context.signal,
      )
      // It was told to stop and did: to whoever runs it that is success.
      context.exitCode(0)
    })
  addAgentCommand(program, context, programs.agent)
}
