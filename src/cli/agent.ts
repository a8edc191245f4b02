import { type Command, InvalidArgumentError, Option } from 'commander'
import type { HostSettings } from '../agent/index.ts'
import { bareProgram } from './bare-program.ts'
import { addClusterOptions, type ClusterFlags } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { defaultHttpHost, durationOption, logLevel, wholeNumber } from './options.ts'

export interface AgentSettings extends ClusterFlags {
  readonly host: HostSettings
  readonly pollMs: number
  readonly maxRebootsPerDay: number
  /** Whether kured's metric is served as well. */
  readonly kuredMetric: boolean
  readonly httpHost: string
  readonly httpPort: number
  readonly logLevel: string
}

interface AgentFlags extends ClusterFlags {
  readonly mount: Readonly<Record<string, string>>
  readonly requestFile: string
  readonly permissionFile: string
  readonly stateFolder: string
  readonly bootIdFile: string
  readonly poll: number
  readonly rebootFile?: readonly string[]
  readonly rebootCheck?: string
  readonly rebootCheckExit: ExitCodes
  readonly rebootKernel: boolean
  readonly rebootMethod: 'command' | 'signal' | 'none'
  readonly rebootCommand: string
  readonly rebootSignal: number
  readonly rebootDelay: number
  readonly maxRebootsPerDay: number
  readonly kuredMetric: boolean
  readonly httpHost: string
  readonly httpPort: number
  readonly logLevel: string
}

type Start = (settings: AgentSettings, signal: AbortSignal) => Promise<void>

interface ExitCodes {
  readonly yes: readonly number[]
  readonly no: readonly number[]
}

const rebootFile = '/var/run/reboot-required'

/** A program that has this command alone. */
export function createAgentProgram(context: CliContext, start: Start): Command {
  const program = bareProgram(context)
  addAgentCommand(program, context, start)
  return program
}

/** `fettle agent`: what runs on each node. Its options are the values of the chart under `agent`. */
export function addAgentCommand(program: Command, context: CliContext, start: Start): void {
  addClusterOptions(program.command('agent'))
    .description('run the agent of one node; in a cluster its DaemonSet does this')
    .option('--mount <path=place>', 'where a folder of the host lies for this process; can be repeated', addMount, {})
    .option(
      '--request-file <path>',
      'scripts ask for maintenance by this file',
      absolutePath,
      '/var/maintenance-required',
    )
    .option('--permission-file <path>', 'this file lets them begin', absolutePath, '/var/maintenance-in-progress')
    .option('--state-folder <path>', 'what the agent must know after a reboot', absolutePath, '/var/lib/fettle')
    .option(
      '--boot-id-file <path>',
      'where the host shows its boot ID',
      absolutePath,
      '/proc/sys/kernel/random/boot_id',
    )
    .option('--poll <duration>', 'how often it looks, besides watching', durationOption, 10_000)
    .option(
      '--reboot-file <path>',
      `a file that asks for a reboot; can be repeated (default: "${rebootFile}")`,
      addPath,
    )
    .option('--reboot-check <command>', 'a command of the host that says whether a reboot is needed')
    .option(
      '--reboot-check-exit <codes>',
      'what its exit codes mean; any other is an error',
      exitCodes,
      exitCodes('0=yes,1=no'),
    )
    .option('--reboot-kernel', 'a newer kernel in /boot than the running one asks for a reboot', false)
    .addOption(
      new Option('--reboot-method <method>', 'how the machine is told to reboot')
        .choices(['command', 'signal', 'none'])
        .default('command'),
    )
    .option('--reboot-command <command>', 'for the method command', '/bin/systemctl reboot')
    .option(
      '--reboot-signal <number>',
      'for the method signal; to the first process of the host',
      wholeNumber(1, 64),
      39,
    )
    .option('--reboot-delay <duration>', 'rest before the order to reboot', durationOption, 0)
    .option('--max-reboots-per-day <count>', 'more than these wait for a person', wholeNumber(1, 1000), 5)
    .option('--kured-metric', 'serve kured_reboot_required as well', false)
    .option('--http-host <address>', 'where to serve /healthz, /readyz and /metrics', defaultHttpHost())
    .option('--http-port <port>', 'and on which port', wholeNumber(0, 65_535), 8081)
    .addOption(logLevel())
    .action(async (flags: AgentFlags) => {
      await start(settingsOf(flags), context.signal)
      context.exitCode(0)
    })
}

function settingsOf(flags: AgentFlags): AgentSettings {
  const { requestFile, permissionFile, stateFolder, bootIdFile, rebootCheck, rebootCheckExit, ...rest } = flags
  return {
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
    host: {
      mounts: flags.mount,
      requestFile,
      permissionFile,
      stateFolder,
      bootIdFile,
      reboot: {
        // A command takes the place of the usual file; who wants both names the file.
        files: flags.rebootFile ?? (rebootCheck ? [] : [rebootFile]),
        ...(rebootCheck ? { check: { command: rebootCheck, ...rebootCheckExit } } : {}),
        kernel: flags.rebootKernel,
        method: flags.rebootMethod,
        command: flags.rebootCommand,
        signal: flags.rebootSignal,
        delayMs: flags.rebootDelay,
      },
    },
    pollMs: flags.poll,
    maxRebootsPerDay: rest.maxRebootsPerDay,
    kuredMetric: rest.kuredMetric,
    httpHost: rest.httpHost,
    httpPort: rest.httpPort,
    logLevel: rest.logLevel,
  }
}

function absolutePath(text: string): string {
  // It is also written into the script that hosts run.
  if (!/^\/[\w./+:@-]*$/.test(text)) throw new InvalidArgumentError('Write an absolute path without blanks and quotes.')
  return text
}

function addPath(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, absolutePath(text)]
}

function addMount(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, path, place] = /^(\/[^=]*)=(\/.*)$/.exec(text) ?? []
  if (path === undefined || place === undefined) throw new InvalidArgumentError('Write /path/on/host=/place/here.')
  return { ...before, [path]: place }
}

function exitCodes(text: string): ExitCodes {
  const pairs = text.split(',').map((pair) => /^(\d{1,3})=(yes|no)$/.exec(pair.trim()))
  if (pairs.some((pair) => pair === null)) throw new InvalidArgumentError('Write codes such as 0=yes,1=no.')
  const of = (meaning: string) => pairs.flatMap((pair) => (pair?.[2] === meaning ? [Number(pair[1])] : []))
  return { yes: of('yes'), no: of('no') }
}
