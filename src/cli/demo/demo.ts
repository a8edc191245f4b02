import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { bringUp, connectTo, type DevReport, takeDown } from '../../dev/index.ts'
import { type KubeClient, type PodObject, resources, SharedCaches } from '../../kube/index.ts'
import { isOpen, openViews, type QueueViews } from '../../queue/index.ts'
import { type CliContext, CliFault, devReport } from '../context.ts'
import { AvailabilityMeter } from './availability.ts'
import { installForDemo, startControllerProcess } from './installation.ts'
import { askForAllNodes, longestWaitSeconds, Technician } from './rolling.ts'
import { DemoScreen } from './screen.ts'
import { budgetPatch, createWorkloads, namespace, workloads } from './workloads.ts'

const clusterName = 'demo'
const nodeCount = 12
/** How long the budget that blocks is shown before the demo's person gives in. */
const patienceMs = 4_000
const longestRunMs = 10 * 60_000

/** `fettle demo`: a rolling maintenance of a whole cluster, on a real control plane, that a person can follow. */
export function addDemoCommand(program: Command, context: CliContext): void {
  program
    .command('demo')
    .description('maintain a whole cluster, node by node, before your eyes; then clean up')
    .option('--once', 'do not wait for a person; exit 0 when no workload went below its budget', false)
    .action(async ({ once }: { once: boolean }) => {
      const report = devReport(context)
      try {
        const record = await bringUp(
          { name: clusterName, simulatedNodes: nodeCount, zones: 3, realNodes: 0 },
          report,
          context.signal,
        )
        const client = await connectTo(record)
        try {
          await maintainAll(client, `${record.folder}/kubeconfig`, report, context)
          if (!once) await waitForPerson(`${record.folder}/kubeconfig`, context)
        } finally {
          client.close()
        }
      } finally {
        await takeDown(clusterName, report)
      }
    })
}

async function maintainAll(
  client: KubeClient,
  kubeconfig: string,
  report: DevReport,
  context: CliContext,
): Promise<void> {
  report.working('installing Fettle and three services')
  await installForDemo(client)
  await createWorkloads(client)
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, context.signal])
  const controller = await startControllerProcess(kubeconfig)
  try {
    const caches = new SharedCaches({ client, signal })
    const views = openViews(caches)
    await caches.waitForSync(signal)
    await until(signal, () => isRunning(views), 'the services are not running')
    report.finished(
      `services are running: ${workloads.map(({ name, replicas }) => `${name} (${replicas})`).join(', ')}`,
    )
    await roll(client, views, context, signal)
  } finally {
    stop.abort(new Error('the demo is over'))
    await controller.stop()
  }
}

function isRunning(views: QueueViews): boolean {
  const running = [...views.pods.values()].filter(
    (pod) => pod.metadata.namespace === namespace && pod.status?.phase === 'Running',
  )
  return running.length >= workloads.reduce((sum, { replicas }) => sum + replicas, 0) && views.budgets.size > 0
}

async function roll(client: KubeClient, views: QueueViews, context: CliContext, signal: AbortSignal): Promise<void> {
  const meter = new AvailabilityMeter(workloads)
  const evicted = new Set<string>()
  views.pods.subscribe(({ type, object }) => {
    meter.look([...views.pods.values()].filter((pod) => pod.metadata.namespace === namespace))
    if (type !== 'added' && wasEvicted(object)) evicted.add(object.metadata.uid ?? '')
  })
  const nodes = [...views.nodes.values()].sort((a, b) =>
    (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '', 'en', { numeric: true }),
  )
  await askForAllNodes(client, nodes)
  const technician = new Technician(client, views)
  const screen = new DemoScreen(
    context,
    nodes.map(({ metadata }) => metadata.name ?? ''),
  )
  const decision = new Decision(client, meter)
  await until(
    signal,
    async () => {
      await technician.visit(signal)
      await decision.look(views)
      screen.draw(views, meter.result(), decision.note)
      const requests = [...views.requests.values()]
      return requests.length === nodes.length && requests.every((request) => !isOpen(request))
    },
    'not all nodes were maintained',
  )
  const availability = meter.result()
  const shown = availability
    .map(({ name, lowest, minAvailable }) => `${name} ${lowest} (at least ${minAvailable})`)
    .join(', ')
  context.out(
    `demo: ${nodes.length} nodes maintained, ${evicted.size} evictions, longest wait ${Math.round(longestWaitSeconds(views.requests.values()))} s, ` +
      `lowest availability: ${shown}\n`,
  )
  const broken = availability.filter(({ lowest, minAvailable }) => lowest < minAvailable)
  if (broken.length > 0)
    throw new CliFault(`below its PodDisruptionBudget: ${broken.map(({ name }) => name).join(', ')}`)
}

function wasEvicted(pod: PodObject): boolean {
  return (
    pod.status?.conditions?.some(
      ({ type, reason }) => type === 'DisruptionTarget' && reason === 'EvictionByEvictionAPI',
    ) ?? false
  )
}

/** Somebody's budget can never let a pod go. The demo shows it for a while; then its person allows one replica to move. */
class Decision {
  note = ''
  readonly #client: KubeClient
  readonly #meter: AvailabilityMeter
  #seenAtMs: number | undefined
  #isMade = false

  constructor(client: KubeClient, meter: AvailabilityMeter) {
    this.#client = client
    this.#meter = meter
  }

  async look(views: QueueViews): Promise<void> {
    if (this.#isMade) return
    const blocked = [...views.requests.values()]
      .flatMap(({ status }) => status?.drain?.blockedBy ?? [])
      .find(({ neverPasses }) => neverPasses)
    if (!blocked) return
    this.#seenAtMs ??= Date.now()
    this.note = `${blocked.pod} cannot leave: budget ${blocked.pdb} wants every replica, always; nothing is forced, a person decides`
    if (Date.now() - this.#seenAtMs < patienceMs) return
    this.#isMade = true
    this.note = `a person lets one replica of ${blocked.pdb} move at a time: minAvailable 2 becomes 1`
    const name = blocked.pdb.split('/')[1] ?? ''
    this.#meter.lower(name, 1)
    await this.#client.patch(resources.podDisruptionBudgets, { name, namespace }, budgetPatch(1))
  }
}

async function until(signal: AbortSignal, isDone: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = Date.now() + longestRunMs
  while (!(await isDone())) {
    signal.throwIfAborted()
    if (Date.now() > deadline) throw new CliFault(`gave up after ${longestRunMs / 60_000} minutes: ${otherwise}`)
    await sleep(200)
  }
}

async function waitForPerson(kubeconfig: string, context: CliContext): Promise<void> {
  context.out(`The cluster is yours: export KUBECONFIG=${kubeconfig}; kubectl get nodes,mreq\nCtrl-C removes it.\n`)
  while (!context.signal.aborted) await sleep(200)
}
