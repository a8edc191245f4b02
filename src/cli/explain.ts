import { type Command, Option } from 'commander'
import { budgetName, type MaintenanceRequest } from '../api/index.ts'
import { cordonOwners } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { decideRequest, isOpen, isReady, type RequestStep, settingsOf, slotOf } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { requestText } from './follow-request.ts'
import { readDrainFacts, readWorld, type World } from './world.ts'

/** `fettle explain`: the controller's own decision about a node or a request, as a sentence and as a value. */
export function addExplainCommand(program: Command, context: CliContext): void {
  addClusterOptions(program.command('explain'))
    .description('why a node or a request is where it is, and what happens next')
    .argument('<node-or-request>')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (name: string, flags: ClusterFlags & { readonly output: string }) => {
      const explanation = await withCluster(flags, async (client) => {
        const world = await readWorld(client, context.nowMs())
        const named = world.requests.find(({ metadata }) => metadata.name === name)
        const nodeName = named?.spec.nodeName ?? name
        const node = world.nodes.find(({ metadata }) => metadata.name === nodeName)
        if (!named && !node)
          throw new CliFault(`${name} is neither a node nor a request; \`fettle queue\` lists requests`)
        const { pods, ...drain } = await readDrainFacts(client, nodeName, world.nodes, context.signal)
        const requests = named
          ? [named]
          : world.requests.filter((request) => isOpen(request) && request.spec.nodeName === nodeName)
        const now = new Date(context.nowMs()).toISOString()
        const steps = requests.map((request) => ({
          request: request.metadata.name ?? '',
          now: requestText(request),
          next: stepText(
            decideRequest({
              request,
              requests: world.requests.filter(({ spec }) => spec.nodeUID === request.spec.nodeUID),
              settings: settingsOf(request, world.budget.spec),
              isExclusivityBroken: isTrue(world.budget, 'ExclusivityBroken'),
              ledgerUID: world.budget.metadata.uid ?? '',
              slot: slotOf(world.budget.status, request.metadata.name ?? ''),
              node: node?.metadata.uid === request.spec.nodeUID ? node : undefined,
              podsOnNode: pods,
              daemonSets: world.daemonSets,
              ...drain,
              waiting: world.decision.waiting.get(request.metadata.name ?? ''),
              now,
            }),
          ),
          history: request.status?.history ?? [],
        }))
        return { name, node: node ? nodeText(node, world) : `node ${nodeName} does not exist`, requests: steps }
      })
      context.out(flags.output === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : explanationText(explanation))
    })
}

interface Explanation {
  readonly name: string
  readonly node: string
  readonly requests: readonly {
    readonly request: string
    readonly now: string
    readonly next: string
    readonly history: NonNullable<NonNullable<MaintenanceRequest['status']>['history']>
  }[]
}

function isTrue({ status }: World['budget'], type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
}

function nodeText(node: NodeObject, { decision }: World): string {
  const out = decision.limits[0]?.out.get(node.metadata.uid ?? '')
  const owners = cordonOwners(node)
  const cordon = node.spec?.unschedulable
    ? `unschedulable${owners.length > 0 ? ` (kept so by ${owners.join(', ')})` : ' (not by Fettle)'}`
    : 'schedulable'
  const counts = out ? `counts against MaintenanceBudget ${budgetName}: ${out.why}` : 'does not count as out'
  return `${node.metadata.name} is ${isReady(node) ? 'Ready' : 'NotReady'} and ${cordon}; it ${counts}`
}

function stepText(step: RequestStep): string {
  switch (step.do) {
    case 'nothing':
      return `nothing now: ${step.why}`
    case 'addFinalizer':
      return 'it is taken into the queue'
    case 'removeFinalizer':
      return 'it is let go'
    case 'removeVerb':
      return "a person's word has been acted on and is removed"
    case 'writeStatus':
      return `it becomes ${step.status.phase}: ${step.status.waiting?.message ?? step.status.history?.at(-1)?.message ?? ''}`
    case 'patchNode':
    case 'patchNodeStatus':
      return `the node is changed: ${step.why}`
    case 'drain': {
      const refused = step.plan.refusals.map(
        ({ pod, why }) => `${pod.metadata.namespace}/${pod.metadata.name} cannot leave: ${why}`,
      )
      return [`${step.plan.askNow.length} pods are asked to leave`, ...refused].join('; ')
    }
  }
}

function explanationText({ node, requests }: Explanation): string {
  const parts = requests.map(({ request, now, next, history }) =>
    [
      `${request}\n  now   ${now}\n  next  ${next}\n`,
      ...history.map(({ time, phase, message }) => `  ${time}  ${phase.padEnd(10)} ${message}\n`),
    ].join(''),
  )
  return `${node}\n${parts.join('') || 'nobody asks for it\n'}`
}
