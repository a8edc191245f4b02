import { type Command, Option } from 'commander'
import { budgetName, type MaintenanceBudget, maintenanceBudgets } from '../api/index.ts'
import {
  type DaemonSetObject,
  type DrainPreview,
  type DrainWorld,
  daemonSetsByUid,
  dryRunPods,
  judgePods,
  type PreviewedPod,
  previewDrain,
} from '../drain/index.ts'
import { type ConnectedClient, isNotFound, type NodeObject, resources } from '../kube/index.ts'
import { isReady } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { addDrainOptions, type DrainOptions } from './drain-options.ts'
import { readDrainFacts } from './world.ts'

interface DrainFlags extends ClusterFlags, DrainOptions {
  readonly preview?: boolean
  readonly output: string
}

/** `fettle node drain NODE --preview`: what would become of each pod, before anything happens. */
export function addDrainCommand(node: Command, context: CliContext): void {
  addDrainOptions(addClusterOptions(node.command('drain')))
    .description('show what would become of each pod if the node were drained now; exits with 1 if it needs a person')
    .argument('<node>')
    .option('--preview', 'change nothing, only show')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (name: string, flags: DrainFlags) => {
      if (!flags.preview)
        throw new CliFault(
          `a node is drained when it is its turn: \`fettle node maintain ${name} --reason …\` asks for it, \`fettle node drain ${name} --preview\` shows what would happen`,
        )
      const preview = await withCluster(flags, (client) => previewNode(client, name, flags, context))
      context.out(flags.output === 'json' ? `${JSON.stringify(preview, null, 2)}\n` : previewText(preview))
      if (!preview.canFinish) context.exitCode(1)
    })
}

export interface NodePreview extends DrainPreview {
  readonly node: string
  readonly isReady: boolean
  readonly isUnschedulable: boolean
}

async function previewNode(
  client: ConnectedClient,
  name: string,
  options: DrainOptions,
  context: CliContext,
): Promise<NodePreview> {
  const nodes = await listAll<NodeObject>(client, resources.nodes)
  const node = nodes.find(({ metadata }) => metadata.name === name)
  if (!node) throw new CliFault(`there is no node ${name} in this cluster; \`kubectl get nodes\` lists them`)
  const found = await readDrainFacts(client, name, nodes, context.signal)
  const world: DrainWorld = {
    ...found,
    daemonSets: daemonSetsByUid(await listAll<DaemonSetObject>(client, resources.daemonSets)),
    isNodeReady: isReady(node),
    settings: await drainSettings(client, options),
    nowMs: context.nowMs(),
  }
  const toEvict = judgePods(world).filter(({ fate }) => fate === 'evict')
  const dryRuns = await dryRunPods(
    client,
    toEvict.map(({ pod }) => pod),
    context.signal,
  )
  return {
    node: name,
    isReady: isReady(node),
    isUnschedulable: node.spec?.unschedulable ?? false,
    ...previewDrain(world, dryRuns),
  }
}

/** Those of the budget, which hold for a request that says nothing else. */
async function drainSettings(
  client: ConnectedClient,
  { stopDaemonset }: DrainOptions,
): Promise<DrainWorld['settings']> {
  try {
    const { spec } = await client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
    const { backend = 'Auto', unmanaged = 'Refuse', stopDaemonSets = [] } = spec.defaults?.drain ?? {}
    return { backend, unmanaged, stopDaemonSets: stopDaemonset ?? stopDaemonSets, isForced: false }
  } catch (error) {
    // Without Fettle in the cluster the question is as good.
    if (!isNotFound(error)) throw error
    return { backend: 'Auto', stopDaemonSets: stopDaemonset ?? [], isForced: false }
  }
}

/** What needs a person comes last, next to the verdict. */
const order: readonly PreviewedPod['leaves'][] = ['stays', 'now', 'later', 'never']

export function previewText(preview: NodePreview): string {
  const { node, isReady: ready, isUnschedulable, pods, budgets, warnings, canFinish } = preview
  const counts = order.map((when) => `${when} ${pods.filter(({ leaves }) => leaves === when).length}`).join(', ')
  const widest = Math.max(0, ...pods.map(({ pod }) => pod.length))
  const rows = [...pods]
    .sort((a, b) => order.indexOf(a.leaves) - order.indexOf(b.leaves))
    .map(({ leaves, pod, why }) => `  ${leaves.padEnd(6)} ${pod.padEnd(widest)}  ${why}\n`)
  const sums = budgets.map(
    ({ pdb, pods: protectedPods, mayLeaveNow, neverPasses }) =>
      `  ${pdb}: ${protectedPods} of these pods are in its care, ${mayLeaveNow} may leave now${neverPasses ? ', and it never lets the others go' : ''}\n`,
  )
  const stuck = pods.filter(({ leaves }) => leaves === 'never').length
  return [
    `${node} is ${ready ? 'Ready' : 'NotReady'} and ${isUnschedulable ? 'unschedulable' : 'schedulable'}; its pods: ${counts}\n`,
    ...rows,
    ...(sums.length > 0 ? ['PodDisruptionBudgets\n', ...sums] : []),
    ...warnings.map((warning) => `Warning: ${warning}\n`),
    canFinish
      ? `The drain can finish by itself: \`fettle node maintain ${node} --reason …\`\n`
      : `The drain cannot finish: ${stuck} of its pods ${stuck === 1 ? 'needs' : 'need'} a person, see the last lines of the list\n`,
  ].join('')
}
