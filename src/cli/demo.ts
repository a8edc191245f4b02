import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { bringUp, connectTo, isReady, rebootSimulatedNode, statusOf, takeDown } from '../dev/index.ts'
import { type KubeClient, type KubeObject, resources } from '../kube/index.ts'
import { type CliContext, devReport } from './context.ts'

const clusterName = 'demo'
const nodeCount = 12
const replicas = 36

/** `fettle demo`: a cluster comes up, pods live on it, a node reboots, everything is cleaned up. */
export function addDemoCommand(program: Command, context: CliContext): void {
  program
    .command('demo')
    .description('show a real cluster on this machine: nodes, pods, a reboot; then clean up')
    .option('--once', 'do not wait for a person; exit 0 when all went well', false)
    .action(async ({ once }: { once: boolean }) => {
      const report = devReport(context)
      try {
        await bringUp({ name: clusterName, simulatedNodes: nodeCount, zones: 3, realNodes: 0 }, report, context.signal)
        const status = await statusOf(clusterName)
        const client = await connectTo({ folder: status.kubeconfig.replace(/\/kubeconfig$/, '') })
        try {
          await show(client, context, report)
        } finally {
          client.close()
        }
        if (!once) await waitForPerson(status.kubeconfig, context)
      } finally {
        await takeDown(clusterName, report)
      }
      context.out(`demo: ${nodeCount} nodes, ${replicas} pods, 1 reboot; all cleaned up\n`)
    })
}

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string }
}

interface Node extends KubeObject {
  readonly status?: {
    readonly nodeInfo?: { readonly bootID?: string }
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

type Report = ReturnType<typeof devReport>

async function show(client: KubeClient, context: CliContext, report: Report): Promise<void> {
  await client.create(resources.deployments, shop())
  await until(context, report, 'pods are running', async () => {
    const running = (await pods(client)).filter((pod) => pod.status?.phase === 'Running').length
    return { done: running === replicas, text: `${running} of ${replicas} pods run` }
  })
  context.out(`\n${nodeTable(await nodes(client), await pods(client))}\n`)
  const bootID = await rebootSimulatedNode(client, 'node-1')
  await until(context, report, 'node-1 is back with a new boot id', async () => {
    const node = (await nodes(client)).find(({ metadata }) => metadata.name === 'node-1')
    const back = node?.status?.nodeInfo?.bootID === bootID
    return {
      done: back && node !== undefined && isReady(node),
      text: `node-1 reboots: ${node && isReady(node) ? 'up' : 'down'}`,
    }
  })
  context.out(`\n${nodeTable(await nodes(client), await pods(client))}\n`)
}

async function nodes(client: KubeClient): Promise<Node[]> {
  const found: Node[] = []
  for await (const page of client.list<Node>(resources.nodes)) found.push(...page.items)
  return found.sort((a, b) => (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '', 'en', { numeric: true }))
}

async function pods(client: KubeClient): Promise<Pod[]> {
  const found: Pod[] = []
  for await (const page of client.list<Pod>(resources.pods, { namespace: 'default' })) found.push(...page.items)
  return found
}

/** One line a node, a block for each pod on it. */
export function nodeTable(nodes: readonly Node[], pods: readonly Pod[]): string {
  const lines = nodes.map((node) => {
    const { name = '', labels } = node.metadata
    const here = pods.filter((pod) => pod.spec.nodeName === name).length
    const state = isReady(node) ? styleText('green', 'Ready   ') : styleText('red', 'NotReady')
    const zone = labels?.['topology.kubernetes.io/zone'] ?? ''
    return `  ${name.padEnd(8)} ${zone}  ${state}  ${node.status?.nodeInfo?.bootID?.slice(0, 8) ?? ''}  ${'■'.repeat(here)}`
  })
  return ['  node     zone    state     boot id   pods', ...lines].join('\n')
}

async function until(
  context: CliContext,
  report: Report,
  what: string,
  look: () => Promise<{ readonly done: boolean; readonly text: string }>,
): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    context.signal.throwIfAborted()
    const { done, text } = await look()
    if (done) {
      report.finished(what)
      return
    }
    report.working(text)
    await sleep(200)
  }
  throw new Error(`gave up after a minute: ${what}`)
}

async function waitForPerson(kubeconfig: string, context: CliContext): Promise<void> {
  context.out(`The cluster is yours: kubectl --kubeconfig ${kubeconfig} get nodes,pods -A\nCtrl-C removes it.\n`)
  while (!context.signal.aborted) await sleep(200)
}

function shop() {
  const labels = { app: 'shop' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image: 'shop.example/web:1' }] },
      },
    },
  }
}
