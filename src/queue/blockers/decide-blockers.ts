import type { Blocker, MaintenanceRequest, NodeConditionBlocker, PodsBlocker } from '../../api/index.ts'
import { matchesSelector } from '../../drain/index.ts'
import type { NodeObject, PodObject } from '../../kube/index.ts'

/** Why a request is not claimed though there is room, and what a person can do. */
export interface Block {
  readonly message: string
  readonly next: string
}

/** `unasked`: somebody outside must be asked first. Nothing: no blocker holds. */
export type BlockerVerdict = Block | 'unasked' | undefined

/** What the ledger asks of each request that it would claim now. */
export type BlockFor = (node: NodeObject, request: MaintenanceRequest) => BlockerVerdict

export interface BlockerViews {
  readonly nodes: () => Iterable<NodeObject>
  readonly pods: () => Iterable<PodObject>
  readonly podsOn: (nodeName: string) => Iterable<PodObject>
  /** A sentence when what is known of pods is too old to rely on. */
  readonly stalePods?: string | undefined
}

/** What alerts and hooks said of a request. Without anybody to ask, nothing that must be asked can be known. */
export interface Answers {
  answer(blocker: Blocker, node: NodeObject, request: MaintenanceRequest): BlockerVerdict
}

/** One look at all blockers; good for one decision. What concerns the whole cluster is looked at once. */
export function blockersNow(
  blockers: readonly Blocker[],
  views: BlockerViews,
  answers: Answers = { answer: () => 'unasked' },
): BlockFor {
  const seen = new Map<Blocker, Block | undefined>()
  const once = (blocker: Blocker, look: () => Block | undefined) => {
    if (!seen.has(blocker)) seen.set(blocker, look())
    return seen.get(blocker)
  }
  const fromViews = (blocker: Blocker, node: NodeObject): Block | undefined => {
    const { pods, nodeCondition } = blocker
    if (pods) {
      if (pods.onThisNode) return podsBlock(blocker.name, pods, views, views.podsOn(nameOf(node)), nameOf(node))
      return once(blocker, () => podsBlock(blocker.name, pods, views, views.pods()))
    }
    if (!nodeCondition) return undefined
    if (!nodeCondition.anyNode) return conditionBlock(blocker.name, nodeCondition, [node])
    return once(blocker, () => conditionBlock(blocker.name, nodeCondition, views.nodes()))
  }
  return (node, request) => {
    for (const blocker of blockers) {
      const block = fromViews(blocker, node)
      if (block) return block
    }
    // Only what nobody else forbids is worth a question.
    const verdicts = blockers.filter(mustBeAsked).map((blocker) => answers.answer(blocker, node, request))
    return verdicts.find((verdict) => typeof verdict === 'object') ?? verdicts.find((verdict) => verdict === 'unasked')
  }
}

/** Alerts and hooks are outside of what is watched. */
export function mustBeAsked(blocker: Blocker): boolean {
  return blocker.alerts !== undefined || blocker.hook !== undefined
}

/**
 * Phase Unknown blocks as well: nobody knows whether such a pod still works.
 * No count in the sentence: it would be written anew with each of a hundred pods that end.
 */
function podsBlock(
  blocker: string,
  pods: PodsBlocker,
  { stalePods }: BlockerViews,
  candidates: Iterable<PodObject>,
  nodeName?: string,
): Block | undefined {
  if (stalePods) return { message: `blocker ${blocker} cannot be judged: ${stalePods}`, next: 'fettle status' }
  const [first, second] = firstTwo(candidates, (pod) => isMeant(pods, pod))
  if (!first) return undefined
  const { namespace, name } = first.metadata
  const where = pods.onThisNode || !first.spec?.nodeName ? '' : ` on ${first.spec.nodeName}`
  const others = second ? ', and it is not the only one' : ''
  return {
    message: `blocker ${blocker}: pod ${namespace}/${name}${where} is ${first.status?.phase ?? 'new'}${others}`,
    next: listCommand(pods, nodeName),
  }
}

function isMeant({ selector, namespaces }: PodsBlocker, { metadata, status }: PodObject): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false
  if (namespaces && !namespaces.includes(metadata.namespace ?? '')) return false
  return matchesSelector(selector, metadata.labels)
}

/** Shows all pods that a blocker means, for who reads the sentence about one of them. */
function listCommand({ selector, namespaces }: PodsBlocker, nodeName: string | undefined): string {
  const labels = selectorText(selector)
  return [
    'kubectl get pods',
    namespaces?.length === 1 ? `-n ${namespaces[0]}` : '-A',
    ...(labels === '' ? [] : [`-l '${labels}'`]),
    ...(nodeName === undefined ? [] : [`--field-selector spec.nodeName=${nodeName}`]),
  ].join(' ')
}

function selectorText({ matchLabels = {}, matchExpressions = [] }: PodsBlocker['selector']): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  return [...equal, ...matchExpressions.map(expressionText)].join(',')
}

type Expression = NonNullable<PodsBlocker['selector']['matchExpressions']>[number]

function expressionText({ key, operator, values = [] }: Expression): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`
    case 'NotIn':
      return `${key} notin (${values.join(',')})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
  }
}

/** A node without the condition does not have it. One whose condition is Unknown may have it. */
function conditionBlock(
  blocker: string,
  { type, status }: NodeConditionBlocker,
  nodes: Iterable<NodeObject>,
): Block | undefined {
  const conditionOf = (node: NodeObject) => node.status?.conditions?.find((one) => one.type === type)?.status
  const [first, second] = firstTwo(nodes, (node) => [status, 'Unknown'].includes(conditionOf(node) ?? 'absent'))
  if (!first) return undefined
  const others = second ? ', and it is not the only one' : ''
  return {
    message: `blocker ${blocker}: condition ${type} of node ${nameOf(first)} is ${conditionOf(first)}${others}`,
    next: `kubectl describe node ${nameOf(first)}`,
  }
}

function firstTwo<T>(items: Iterable<T>, isMeant: (item: T) => boolean): T[] {
  const found: T[] = []
  for (const item of items) {
    if (isMeant(item)) found.push(item)
    if (found.length === 2) break
  }
  return found
}

function nameOf(node: NodeObject): string {
  return node.metadata.name ?? ''
}
