import { hostname } from 'node:os'
import { type Command, Option } from 'commander'
import { addClusterOptions, type ClusterFlags } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { wholeNumber } from './options.ts'

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

export interface AgentSettings extends ClusterFlags {
  readonly nodeName: string
  readonly httpHost: string
  readonly httpPort: number
  readonly logLevel: string
}

const logLevel = () => new Option('--log-level <level>').choices(['debug', 'info', 'warn', 'error']).default('info')

/** `fettle controller` and `fettle agent`: the programs that run in the cluster. */
export function addProgramCommands(program: Command, context: CliContext, programs: Programs): void {
  const env = process.env
  // In a pod the kubelet asks from outside; on a terminal nobody else should.
  const httpHost = env['POD_NAME'] ? '0.0.0.0' : '127.0.0.1'
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
    .option('--http-host <address>', 'where to serve /healthz, /readyz and /metrics', httpHost)
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

  addClusterOptions(program.command('agent'))
    .description('run the agent of one node; in a cluster its DaemonSet does this')
    .requiredOption('--node-name <name>', 'the node it runs on', env['NODE_NAME'])
    .option('--http-host <address>', 'where to serve /healthz, /readyz and /metrics', httpHost)
    .option('--http-port <port>', 'and on which port', wholeNumber(0, 65_535), 8081)
    .addOption(logLevel())
    .action(async (flags: AgentSettings) => {
      await programs.agent(flags, context.signal)
      context.exitCode(0)
    })
}
