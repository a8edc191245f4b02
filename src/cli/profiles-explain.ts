import { type Command, Option } from 'commander'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceFreeze,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceFreezes,
  maintenanceRequests,
} from '../api/index.ts'
import {
  type ConnectedClient,
  fencedClient,
  isForbidden,
  isNotFound,
  type KubeObject,
  type NodeObject,
  type PodObject,
  resources,
} from '../kube/index.ts'
import { explainNode, type NodeExplanation, type ProfilesConfig, unwritten, type Warning } from '../profiles/index.ts'
import { freezeText, isOpen, viewFreezes } from '../queue/index.ts'
import { systemClock } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { explanationText } from './profiles-explain-text.ts'
import { findProfiles } from './profiles-file.ts'
import { readPods } from './world.ts'

interface ExplainFlags extends ClusterFlags {
  readonly profiles?: string
  readonly namespace: string
  readonly output: 'text' | 'json'
}

/** `fettle profiles explain`: the controller's own look at a node, without its hands. */
export function addProfilesExplainCommand(profiles: Command, context: CliContext): void {
  addClusterOptions(profiles.command('explain'))
    .description('where a node stands in its profiles, every check with its answer, and what happens next')
    .argument('<node>')
    .option('--profiles <file>', 'instead of config/maintenance.yaml, or of what is installed')
    .option('--namespace <name>', 'where the controller runs', 'fettle-system')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (name: string, flags: ExplainFlags) => {
      await withCluster(flags, async (client) => {
        const { config, from, unset } = await findProfiles(client, flags)
        if (unset.length > 0)
          context.err(
            `${from} names variables that are not set here: ${unset.join(', ')}; checks that use them may differ\n`,
          )
        const explanation = await explain(client, name, config, context)
        context.out(
          flags.output === 'json'
            ? `${JSON.stringify(explanation, null, 2)}\n`
            : explanationText(explanation, context.nowMs()),
        )
      })
    })
}

async function explain(
  client: ConnectedClient,
  name: string,
  config: ProfilesConfig,
  { nowMs, signal }: CliContext,
): Promise<NodeExplanation> {
  const nodes = await listAll<NodeObject>(client, resources.nodes)
  const node = nodes.find(({ metadata }) => metadata.name === name)
  if (!node) throw new CliFault(`there is no node ${name}; \`kubectl get nodes\` lists nodes`)
  const [pods, freezes, requests, budget, warnings] = await Promise.all([
    asksForAllPods(config) ? listAll<PodObject>(client, resources.pods) : readPods(client, name),
    listAll<MaintenanceFreeze>(client, maintenanceFreezes).catch(nothing<MaintenanceFreeze>),
    listAll<MaintenanceRequest>(client, maintenanceRequests).catch(nothing<MaintenanceRequest>),
    readBudget(client),
    readWarnings(client, node, nowMs()),
  ])
  const frozen = freezeText(viewFreezes(freezes, nowMs()))
  const explanation = await explainNode(node, {
    config,
    cluster: {
      nodes: () => nodes,
      podsOn: (node) => pods.filter(({ spec }) => spec?.nodeName === node),
    },
    doors: { client: fencedClient(client, { assertStillLeader: refuse }), clock: systemClock },
    nowMs: nowMs(),
    signal,
    frozen,
    admissions: budget?.status?.admissions ?? [],
    whyNot: (profile) => frozen ?? (budget?.spec.profiles === 'Count' ? whyNoSlot(requests, node, profile) : undefined),
  })
  return warnings.length === 0 ? explanation : { ...explanation, warnings }
}

/** Who only asks must not change anything, whatever a plugin tries. */
function refuse(): never {
  throw new Error('this only looks, and changes nothing')
}

/** One check looks at pods of other nodes; else a big cluster would be read for nothing. */
function asksForAllPods({ profiles }: ProfilesConfig): boolean {
  return [...profiles.values()].some(({ states }) =>
    Object.values(states).some(({ transitions }) =>
      transitions.some(({ check }) => check.checks.some(({ type }) => type === 'affinity')),
    ),
  )
}

/** Profiles can be looked at in a cluster that only maintenance-controller takes care of. */
function nothing<T>(error: unknown): T[] {
  if (!isNotFound(error)) throw error
  return []
}

async function readBudget(client: ConnectedClient): Promise<MaintenanceBudget | undefined> {
  return client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
}

interface EventObject extends KubeObject {
  readonly note?: string
  readonly regarding?: { readonly uid?: string }
  readonly eventTime?: string
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

/** What has not been told again for so long is over. */
const freshMs = 600_000

/** Whether the API server takes what the controller writes, only the controller finds out. */
async function readWarnings(client: ConnectedClient, node: NodeObject, nowMs: number): Promise<readonly Warning[]> {
  const { name = '', uid } = node.metadata
  const fieldSelector = `regarding.kind=Node,regarding.name=${name},reason=ChangeMaintenanceStateFailed`
  const found: EventObject[] = []
  try {
    const options = { namespace: 'default', fieldSelector }
    for await (const { items } of client.list<EventObject>(resources.events, options)) found.push(...items)
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error
  }
  return found.flatMap(({ note = '', regarding, eventTime = '', series }) => {
    const at = series?.lastObservedTime ?? eventTime
    const isMeant = regarding?.uid === uid && note.includes(unwritten) && nowMs - Date.parse(at) < freshMs
    return isMeant ? [{ note, times: series?.count ?? 1, at }] : []
  })
}

function whyNoSlot(requests: readonly MaintenanceRequest[], node: NodeObject, profile: string): string | undefined {
  const open = requests.find(
    (request) =>
      isOpen(request) &&
      request.spec.nodeUID === node.metadata.uid &&
      request.spec.source.kind === 'Profile' &&
      request.spec.source.key === profile,
  )
  if (open?.status?.phase === 'Granted') return undefined
  return `a slot of the queue: ${open?.status?.waiting?.message ?? (open ? 'it is asked for' : 'it will be asked for')}`
}
