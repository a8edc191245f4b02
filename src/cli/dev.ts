import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { styleText } from 'node:util'
import { type Command, Option } from 'commander'
import {
  adminKubeconfig,
  allStatuses,
  bringUp,
  type ClusterRecord,
  type ClusterStatus,
  controlPlaneProgram,
  DevFault,
  logPathOf,
  places,
  readRecord,
  startCluster,
  statusOf,
  stopCluster,
  takeDown,
} from '../dev/index.ts'
import { type CliContext, devReport } from './context.ts'
import { addDevNodeCommands } from './dev-node.ts'
import { wholeNumber } from './options.ts'

const nameOption = () => new Option('--name <name>', 'which embedded cluster').default('dev')

export function requireCluster(name: string): ClusterRecord {
  const record = readRecord(name, places())
  if (record) return record
  throw new DevFault(
    `there is no cluster named ${name}; \`fettle dev up --name ${name}\` makes it, \`fettle dev status\` lists all`,
  )
}

/** `fettle dev …`: the embedded cluster. */
export function addDevCommands(program: Command, context: CliContext): void {
  const dev = program
    .command('dev')
    .description('a real Kubernetes control plane on this machine, with simulated and real nodes')

  dev
    .command('up')
    .description('bring a cluster up, or complete one that exists')
    .addOption(nameOption())
    .option('--nodes <count>', 'simulated nodes', wholeNumber(0, 10_000), 3)
    .option('--zones <count>', 'zones that the simulated nodes are dealt out to', wholeNumber(1, 26), 3)
    .option('--real-nodes <count>', 'booted machines with a real kubelet (needs root)', wholeNumber(0, 16), 0)
    .option('--kubeconfig <file>', "also add the cluster's context to this kubeconfig")
    .option('--foreground', 'stay, and take the cluster down on Ctrl-C', false)
    .action(async (options: UpFlags) => {
      const report = devReport(context)
      const record = await bringUp(
        {
          name: options.name,
          simulatedNodes: options.nodes,
          zones: options.zones,
          realNodes: options.realNodes,
          ...(options.kubeconfig ? { userKubeconfig: options.kubeconfig } : {}),
        },
        report,
        context.signal,
      )
      context.out(`export KUBECONFIG=${adminKubeconfig(record)}\n`)
      if (!options.foreground) return
      context.err('Ctrl-C takes the cluster down.\n')
      await untilAborted(context.signal)
      await takeDown(options.name, report)
    })

  dev
    .command('down')
    .description('remove a cluster whole: processes, machines, network, files')
    .addOption(nameOption())
    .action(async ({ name }: { name: string }) => {
      if (!(await takeDown(name, devReport(context)))) context.err(`there is no cluster named ${name}; nothing to do\n`)
    })

  dev
    .command('stop')
    .description('end the processes of a cluster and keep its data')
    .addOption(nameOption())
    .action(async ({ name }: { name: string }) => {
      requireCluster(name)
      await stopCluster(name)
      devReport(context).finished(`cluster ${name} is stopped; \`fettle dev start --name ${name}\` continues it`)
    })

  dev
    .command('start')
    .description('start whatever of a cluster does not run')
    .addOption(nameOption())
    .action(async ({ name }: { name: string }) => {
      const report = devReport(context)
      const record = requireCluster(name)
      await startCluster(record, await controlPlaneProgram(report, places(), context.signal), report, context.signal)
    })

  dev
    .command('status')
    .description('what runs, and what to do about what does not')
    .option('--name <name>', 'only this cluster')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async ({ name, output }: { name?: string; output: string }) => {
      if (name) requireCluster(name)
      const statuses = name ? [await statusOf(name)] : await allStatuses()
      context.out(
        output === 'json'
          ? `${JSON.stringify(statuses, null, 2)}\n`
          : statuses.map(statusText).join('\n') || noClusters,
      )
      if (statuses.some(({ state }) => state === 'degraded' || state === 'broken')) context.exitCode(1)
    })

  dev
    .command('logs')
    .description(
      'print the log of a component: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, or a real node',
    )
    .argument('<component>')
    .addOption(nameOption())
    .option('--tail <lines>', 'only the last lines', wholeNumber(1, 1_000_000))
    .action((component: string, { name, tail }: { name: string; tail?: number }) => {
      const path = logPathOf(requireCluster(name), component)
      const text = readFileSync(path, 'utf8')
      context.out(tail === undefined ? text : `${text.trimEnd().split('\n').slice(-tail).join('\n')}\n`)
    })

  dev
    .command('kubectl')
    .description('run kubectl against a cluster; put its arguments behind --')
    .argument('[args...]')
    .addOption(nameOption())
    .action(async (args: string[], { name }: { name: string }) => {
      const record = requireCluster(name)
      const kubectl = await controlPlaneProgram(devReport(context), places(), context.signal)
      context.exitCode(
        await inTerminal([kubectl, 'kubectl', '--kubeconfig', adminKubeconfig(record), ...args], context.signal),
      )
    })

  addDevNodeCommands(dev, context, nameOption)
}

interface UpFlags {
  readonly name: string
  readonly nodes: number
  readonly zones: number
  readonly realNodes: number
  readonly kubeconfig?: string
  readonly foreground: boolean
}

const noClusters = 'no clusters; `fettle dev up` makes one\n'

export function statusText(status: ClusterStatus): string {
  const colour = status.state === 'running' ? 'green' : status.state === 'stopped' ? 'yellow' : 'red'
  const lines = [`${status.name}: ${styleText(colour, status.state)}${status.message ? `: ${status.message}` : ''}`]
  if (status.server) lines.push(`  server      ${status.server}`, `  kubeconfig  ${status.kubeconfig}`)
  if (status.state === 'running' || status.state === 'degraded') {
    const { nodes, pods } = status
    lines.push(
      `  nodes       ${nodes.ready} of ${nodes.total} ready (${nodes.simulated} simulated, ${nodes.real} real)`,
    )
    lines.push(`  pods        ${pods.running} of ${pods.total} running`)
    for (const { name, pid, memoryMiB } of status.components)
      lines.push(
        `  ${name.padEnd(24)}${pid === null ? styleText('red', 'not running') : `pid ${pid}, ${memoryMiB} MiB`}`,
      )
  }
  return `${lines.join('\n')}\n`
}

/** Gives the terminal to another program, so that `kubectl exec -it` and pagers work. */
async function inTerminal([command = '', ...args]: string[], stop: AbortSignal): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' })
  // On Ctrl-C the terminal tells both; a signal to this process alone must not leave the other one behind.
  stop.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? (signal ? 130 : 1)))
  })
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  // Only the timer keeps the process alive: nothing else is open while the cluster runs on its own.
  const alive = setInterval(() => undefined, 60_000)
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  clearInterval(alive)
}
