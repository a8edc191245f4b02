import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { podNamespace } from '../kube/index.ts'
import { bareProgram } from './bare-program.ts'
import { addClusterOptions, type ClusterFlags } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { defaultHttpHost, durationOption, isInPod, logLevel, wholeNumber } from './options.ts'

export interface ControllerSettings extends ClusterFlags {
  readonly namespace: string
  readonly identity: string
  readonly leaseName: string
  readonly leaseSeconds: number
  readonly httpHost: string
  readonly httpPort: number
  /** A file with what whoever asks for /metrics or /api/v1/info has to send; without it nobody is asked. */
  readonly httpTokenFile?: string
  readonly logLevel: string
  /** The file of maintenance profiles; none if there are none. */
  readonly profiles?: string
  /** Where the lease of maintenance-controller is, which is held while profiles act. */
  readonly originalLeaseNamespace: string
  /** Profiles decide, and change nothing. */
  readonly isDryRun: boolean
  /** Further places to answer at, as deployments of maintenance-controller expect it. */
  readonly metricsAddress?: Address
  readonly healthAddress?: Address
  /** How long it waits at its end for somebody to fetch its last figures. */
  readonly metricsTimeoutMs: number
}

export interface Address {
  readonly host: string
  readonly port: number
  /** Nobody asked for it: if it is taken, the controller does without. */
  readonly isOptional?: true
}

/** As controller-runtime has it: at 0 nothing is answered. */
type AddressFlag = Address | 'nowhere'

type ControllerFlags = Omit<
  ControllerSettings,
  | 'namespace'
  | 'originalLeaseNamespace'
  | 'identity'
  | 'isDryRun'
  | 'metricsAddress'
  | 'healthAddress'
  | 'metricsTimeoutMs'
> & {
  readonly namespace?: string
  readonly originalLeaseNamespace?: string
  readonly metricsTimeout: number
  readonly profilesDryRun?: true
  readonly metricsAddr?: AddressFlag
  readonly healthAddr?: AddressFlag
  readonly kubecontext?: string
  readonly enableEsxMaintenance?: true | string
  readonly enableKubernikusMaintenance?: true | string
}

/** Where maintenance-controller looks for it. */
const usualFile = 'config/maintenance.yaml'
/** Where maintenance-controller answers if it is not told otherwise, and where its Deployment has it probed. */
const usualHealthPort = 8081

type Start = (settings: ControllerSettings, signal: AbortSignal) => Promise<void>

/** A program that has this command alone. */
export function createControllerProgram(context: CliContext, start: Start): Command {
  const program = bareProgram(context)
  addControllerCommand(program, context, start)
  return program
}

/** `fettle controller`: what runs once in a cluster. */
export function addControllerCommand(program: Command, context: CliContext, start: Start): void {
  const env = process.env
  const controller = addClusterOptions(program.command('controller'))
  for (const option of forOriginal()) controller.addOption(option)
  const parseOptions = controller.parseOptions.bind(controller)
  controller.parseOptions = (args) => parseOptions(args.map(asLongOption))
  controller
    .description('run the controller; in a cluster its Deployment does this')
    .option(
      '--namespace <name>',
      'where the leader lease is (default: the namespace of the pod, or else "fettle-system")',
    )
    .option('--lease-name <name>', 'name of the leader lease', 'fettle-controller')
    .option(
      '--lease-seconds <count>',
      'how long after its last sign of life a leader is replaced',
      wholeNumber(3, 600),
      15,
    )
    .option('--http-host <address>', 'where to serve /healthz, /readyz and /metrics', defaultHttpHost())
    .option('--http-port <port>', 'and on which port', wholeNumber(0, 65_535), 8080)
    .option(
      '--http-token-file <file>',
      'who asks for /metrics or /api/v1/info has to send what is in it as Bearer token',
    )
    .addOption(logLevel())
    .option('--profiles <file>', `maintenance profiles; without it ${usualFile}, if that is there`)
    .option(
      '--original-lease-namespace <name>',
      'where maintenance-controller has its lease, which is held while profiles act (default: that of --namespace)',
    )
    .option('--profiles-dry-run', 'profiles say what they would do, and change nothing')
    .addOption(
      new Option(
        '--metrics-addr <address>',
        'also serve /metrics and /api/v1/info here, such as :8082; 0 for nowhere',
      ).argParser(addressOf),
    )
    .addOption(
      new Option(
        '--health-addr <address>',
        `also serve /healthz and /readyz here, 0 for nowhere; without it on :${usualHealthPort}, if ${usualFile} was found and the port is free`,
      ).argParser(addressOf),
    )
    .option(
      '--metrics-timeout <duration>',
      'when told to stop, answer until /metrics was fetched once more, or for so long: the last figures are not lost',
      durationOption,
      0,
    )
    .action(async (flags: ControllerFlags, command: Command) => {
      const { enableEsxMaintenance = 'false', enableKubernikusMaintenance = 'false' } = flags
      if (enableEsxMaintenance !== 'false' || enableKubernikusMaintenance !== 'false')
        throw new CliFault(
          'ESX and Kubernikus are not taken care of by this version: leave them to maintenance-controller, and take the flag away',
        )
      const { metricsAddr, healthAddr, metricsTimeout, profilesDryRun, kubecontext, profiles, ...settings } = flags
      const file = profiles ?? (existsSync(usualFile) ? usualFile : undefined)
      // Found and not named: it may be the Deployment of maintenance-controller, and whoever does not answer is killed.
      const isInPlace = profiles === undefined && file !== undefined
      const health = healthAddr ?? (isInPlace ? usualHealthAddress() : 'nowhere')
      const isHostUsual = command.getOptionValueSource('httpHost') === 'default'
      const { httpHost: host, httpPort: port } = flags
      const namespace = flags.namespace ?? (await defaultNamespace(env))
      await start(
        {
          ...settings,
          httpHost: isHostUsual ? narrowedHost({ host, port }, [metricsAddr, healthAddr]) : host,
          namespace,
          originalLeaseNamespace: flags.originalLeaseNamespace ?? namespace,
          metricsTimeoutMs: metricsTimeout,
          ...(kubecontext === undefined ? {} : { context: kubecontext }),
          ...(file === undefined ? {} : { profiles: file }),
          ...(metricsAddr === undefined || metricsAddr === 'nowhere' ? {} : { metricsAddress: metricsAddr }),
          ...(health === 'nowhere' ? {} : { healthAddress: health }),
          isDryRun: profilesDryRun === true,
          identity: env['POD_NAME'] ?? (isInPod(env) ? hostname() : `${hostname()}-${process.pid}`),
        },
        context.signal,
      )
      // It was told to stop and did: to whoever runs it that is success.
      context.exitCode(0)
    })
}

/** Where this pod is, as our manifests say it, or as every account says it; maintenance-controller looks there, too. */
export async function defaultNamespace(env: NodeJS.ProcessEnv, accountFolder?: string): Promise<string> {
  return env['POD_NAMESPACE'] || ((await podNamespace(accountFolder)) ?? 'fettle-system')
}

/**
 * Nobody asked for all addresses of the usual port. Whoever asks for one of them, such as that of this machine alone, means
 * that no other is answered.
 */
export function narrowedHost({ host, port }: Address, asked: readonly (AddressFlag | undefined)[]): string {
  if (!isEverywhere(host)) return host
  const places = asked.filter((place) => typeof place === 'object')
  return places.find((place) => place.port === port && !isEverywhere(place.host))?.host ?? host
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function usualHealthAddress(): Address {
  return { host: defaultHttpHost(), port: usualHealthPort, isOptional: true }
}

/** What deployments of maintenance-controller say, so that they need not change: what has no meaning here is taken and ignored. */
function forOriginal(): Option[] {
  const ignored = [
    ['--enable-leader-election [flag]', 'there is always one'],
    ['--pprof-addr <address>', 'Node has other ways'],
    ['--zap-devel [flag]', 'see --log-level'],
    ['--zap-encoder <name>', 'logs are JSON'],
    ['--zap-log-level <level>', 'see --log-level'],
    ['--zap-stacktrace-level <level>', 'see --log-level'],
    ['--zap-time-encoding <name>', 'logs are JSON'],
  ] as const
  return [
    new Option('--kubecontext <name>', 'the same as --context').env('KUBECONTEXT').hideHelp(),
    new Option('--enable-esx-maintenance [flag]', 'refused').hideHelp(),
    new Option('--enable-kubernikus-maintenance [flag]', 'refused').hideHelp(),
    ...ignored.map(([flags, why]) => new Option(flags, `for maintenance-controller: ${why}`).hideHelp()),
  ]
}

/** Go takes `-metrics-addr` for `--metrics-addr`, and deployments are written that way. */
function asLongOption(argument: string): string {
  return /^-[a-z][a-z-]+(=|$)/.test(argument) ? `-${argument}` : argument
}

/** As Go writes it: `:8080` listens everywhere. */
function addressOf(text: string): AddressFlag {
  if (text === '0') return 'nowhere'
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? []
  if (port === '' || Number(port) > 65_535)
    throw new InvalidArgumentError('write host:port, :8080 to listen on all addresses, or 0 for nowhere')
  return { host: host.replace(/^\[|\]$/g, '') || defaultHttpHost(), port: Number(port) }
}
