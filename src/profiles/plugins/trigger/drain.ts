import {
  askPods,
  type DrainPlan,
  type DrainWorld,
  EvictionPace,
  type PodToAsk,
  planDrain,
} from '../../../drain/index.ts'
import { type EventSubject, type PodDisruptionBudget, type PodObject, resources } from '../../../kube/index.ts'
import { cordonDraft } from '../../cordon-draft.ts'
import type { TriggerContext, TriggerOutcome } from '../../plugin.ts'
import { type DrainLimits, type DrainTimes, drainTimes, progressOf } from './drain-progress.ts'

export interface DrainConfig extends DrainLimits {
  readonly barePods: string
}

const callDeadlineMs = 10_000

/** One step: asks those who may be asked now, waits for nobody. What it remembers is on the node and in the pods. */
export async function drain(context: TriggerContext, config: DrainConfig): Promise<TriggerOutcome> {
  const { node, cluster, cordonOwner, nowMs } = context
  cordonDraft(node, cordonOwner, nowMs)
  // On a node that still takes pods they would come back, or others would come.
  if (node.stored.spec?.unschedulable !== true) return { retry: 'the node is cordoned first' }
  const evictions = context.doors.evictions ?? new EvictionPace(Math.random)
  const times = drainTimes(context, config, evictions.askingSinceMs(`${node.uid} ${context.profile}`, nowMs))
  const plan = planDrain(await worldOf(context, config, times, [...cluster.podsOn(node.name)]))
  if (plan.left.length === 0) return confirmed(context, config, times)
  const progress = progressOf(plan, await askThem(context, evictions, plan, config), times, config)
  if (progress.isOverdue) tellOverdue(context, plan.left, progress.limitText)
  return { retry: progress.text }
}

/** The view may be behind: that a node is empty is believed only of the API server itself. */
async function confirmed(context: TriggerContext, config: DrainConfig, times: DrainTimes): Promise<TriggerOutcome> {
  const { left } = planDrain(await worldOf(context, config, times, await livePods(context)))
  return left.length === 0 ? 'done' : { retry: `pods that have come to the node meanwhile: ${left.length}` }
}

async function worldOf(
  context: TriggerContext,
  { barePods }: DrainConfig,
  { isForced }: DrainTimes,
  pods: readonly PodObject[],
): Promise<DrainWorld> {
  const { node, cluster, nowMs } = context
  return {
    pods,
    budgets: pods.length === 0 ? [] : [...(cluster.disruptionBudgets?.() ?? (await liveBudgets(context)))],
    isNodeReady:
      node.stored.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
    settings: { backend: 'Eviction', isForced, unmanaged: barePods === 'refuse' ? 'Refuse' : 'Evict' },
    nowMs,
  }
}

/** Answers what the server said to those who were asked in vain, now or before, by UID. */
async function askThem(
  context: TriggerContext,
  evictions: EvictionPace,
  { askNow, askLater, left }: DrainPlan,
  { forceEviction }: DrainConfig,
): Promise<ReadonlyMap<string, string>> {
  const { doors, signal, nowMs } = context
  // Out of the API, even if its processes still run: whoever forces says that the node is about to stop anyway.
  const overdue = (forceEviction ? left.filter((pod) => isOverdue(pod, nowMs)) : []).map(
    (pod): PodToAsk => ({ pod, how: 'delete', gracePeriodSeconds: 0 }),
  )
  const { pods } = evictions.due({ askNow: [...askNow, ...overdue], askLater }, nowMs)
  for (const { pod, how } of pods) tellAsked(context, pod, how === 'delete')
  evictions.note(await askPods(doors.client, pods, signal), nowMs)
  return evictions.answers()
}

const mostSlackMs = 30_000
const kubernetesGraceSeconds = 30

/** The time of deletion is the end of the grace period; the kubelet needs a moment more to say that a pod is gone. */
function isOverdue({ metadata, spec }: PodObject, nowMs: number): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  const grace = deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? kubernetesGraceSeconds
  return nowMs - Date.parse(deletionTimestamp ?? '') > Math.min(grace * 1_000, mostSlackMs)
}

function tellAsked(context: TriggerContext, pod: PodObject, isForced: boolean): void {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  context.doors.events?.record({
    regarding: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
    related: nodeSubject(context),
    type: 'Normal',
    reason: isForced ? 'ForceDeleting' : 'Evicting',
    action: 'Drain',
    note: `profile ${context.profile} drains node ${context.node.name}${isForced ? ', and forces it' : ''}`,
  })
}

function tellOverdue(context: TriggerContext, left: readonly PodObject[], limitText: string): void {
  const names = left.slice(0, 5).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  context.doors.events?.record({
    regarding: nodeSubject(context),
    type: 'Warning',
    reason: 'DrainOverdue',
    action: 'Drain',
    note: `profile ${context.profile}: pods did not leave within ${limitText}: ${names.join(', ')}${left.length > 5 ? ', …' : ''}`,
  })
}

function nodeSubject({ node }: TriggerContext): EventSubject {
  return { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }
}

async function livePods({ doors, node, signal }: TriggerContext): Promise<PodObject[]> {
  const found: PodObject[] = []
  const options = { fieldSelector: `spec.nodeName=${node.name}`, signal, deadlineMs: callDeadlineMs }
  for await (const { items } of doors.client.list<PodObject>(resources.pods, options)) found.push(...items)
  return found
}

async function liveBudgets({ doors, signal }: TriggerContext): Promise<PodDisruptionBudget[]> {
  const found: PodDisruptionBudget[] = []
  const options = { signal, deadlineMs: callDeadlineMs }
  for await (const { items } of doors.client.list<PodDisruptionBudget>(resources.podDisruptionBudgets, options))
    found.push(...items)
  return found
}
