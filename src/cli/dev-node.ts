import type { Command, Option } from 'commander'
import {
  addRealNodes,
  addSimulatedNodes,
  type ClusterRecord,
  connectTo,
  controlPlaneProgram,
  DevFault,
  places,
  realNodeNames,
  rebootRealNode,
  rebootSimulatedNode,
  removeNode,
  removeRealNode,
  simulatedNodeNames,
  taintSimulatedNodes,
  waitForReadyNodes,
} from '../dev/index.ts'
import { type CliContext, devReport } from './context.ts'
import { requireCluster } from './dev.ts'
import { wholeNumber } from './options.ts'

/** `fettle dev node …`: machines come, go and reboot. */
export function addDevNodeCommands(dev: Command, context: CliContext, nameOption: () => Option): void {
  const node = dev.command('node').description('add, remove or reboot nodes')

  node
    .command('add')
    .description('add simulated nodes, or real ones with --real')
    .argument('[count]', 'how many more', wholeNumber(1, 10_000), 1)
    .addOption(nameOption())
    .option('--real', 'booted machines with a real kubelet (needs root)', false)
    .option('--zones <count>', 'zones that the nodes are dealt out to', wholeNumber(1, 26), 3)
    .action(async (count: number, options: { name: string; real: boolean; zones: number }) => {
      const record = requireCluster(options.name)
      const report = devReport(context)
      await withClient(record, async (client) => {
        const simulated = await simulatedNodeNames(client)
        const real = realNodeNames(record).length
        if (options.real) {
          const program = await controlPlaneProgram(report, places(), context.signal)
          await addRealNodes(record, { count: real + count, program }, report, context.signal)
          await taintSimulatedNodes(client)
          return
        }
        await addSimulatedNodes(client, { count: simulated.length + count, zones: options.zones, tainted: real > 0 })
        await waitForReadyNodes(client, simulated.length + count + real, report, context.signal)
      })
    })

  node
    .command('remove')
    .description('remove a node; a real one is powered off and its machine deleted')
    .argument('<node>')
    .addOption(nameOption())
    .action(async (name: string, options: { name: string }) => {
      await withNode(options.name, name, async (client, record, isReal) => {
        if (isReal) await removeRealNode(record, name)
        await removeNode(client, name)
      })
      devReport(context).finished(`node ${name} is gone`)
    })

  node
    .command('reboot')
    .description('reboot a node: its boot id changes, for real or simulated')
    .argument('<node>')
    .addOption(nameOption())
    .action(async (name: string, options: { name: string }) => {
      await withNode(options.name, name, async (client, record, isReal) => {
        if (isReal) await rebootRealNode(record, name)
        else await rebootSimulatedNode(client, name)
      })
      devReport(context).finished(`node ${name} reboots`)
    })
}

/** Works on a node that the cluster has; of any other it says so. */
async function withNode(
  cluster: string,
  name: string,
  work: (client: Client, record: ClusterRecord, isReal: boolean) => Promise<void>,
): Promise<void> {
  const record = requireCluster(cluster)
  await withClient(record, async (client) => {
    const known = [...(await simulatedNodeNames(client)), ...realNodeNames(record)]
    if (!known.includes(name))
      throw new DevFault(
        `cluster ${record.name} has no node ${name}; it has ${known.slice(0, 10).join(', ') || 'none'}`,
      )
    await work(client, record, realNodeNames(record).includes(name))
  })
}

type Client = Awaited<ReturnType<typeof connectTo>>

async function withClient(record: ClusterRecord, work: (client: Client) => Promise<void>): Promise<void> {
  const client = await connectTo(record)
  try {
    await work(client)
  } finally {
    client.close()
  }
}
