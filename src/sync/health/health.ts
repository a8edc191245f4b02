import type { PodObject } from '../../kube/index.ts'
import type { JsonObject } from '../json.ts'
import { groupOf, type Key } from '../key.ts'
import { cronJobRule, jobRule } from './batch.ts'
import { apiServiceRule, autoscalerRule, budgetRule, definitionRule, namespaceRule } from './cluster.ts'
import { conditionOf, conditionText } from './condition.ts'
import { numberAt, textAt } from './fields.ts'
import { gatewayRule, ingressRule, routeRule, serviceRule } from './network.ts'
import { podRule } from './pod.ts'
import { claimRule } from './storage.ts'
import { current, failed, type Health, inProgress, type KindRule } from './verdict.ts'
import { daemonSetRule, deploymentRule, replicaSetRule, statefulSetRule } from './workloads.ts'

export type { Health } from './verdict.ts'

export interface Related {
  /** Of the object's namespace; others do no harm. */
  readonly pods: readonly PodObject[]
  /** How long a pod may find no node. Default 15 s. */
  readonly unschedulableMs?: number
}

/** How an object is. The rules for all kinds come first, then those of its kind, then the usual conditions. */
export function healthOf(object: JsonObject, related: Related, nowMs: number): Health {
  const rule = kindRules[ruleId(groupOf(textAt(object, 'apiVersion') ?? ''), textAt(object, 'kind') ?? '')]
  const around = { pods: related.pods, nowMs, unschedulableMs: related.unschedulableMs ?? 15_000 }
  return anyKind(object) ?? rule?.(object, around) ?? byCondition(object)
}

/** Whether objects of a kind are healthy as soon as they exist: nobody has to be asked about them. */
export function isHealthyAtOnce({ group, kind }: Pick<Key, 'group' | 'kind'>): boolean {
  return builtInGroups.has(group) && kindRules[ruleId(group, kind)] === undefined
}

function anyKind(object: JsonObject): Health | undefined {
  const deletedAt = textAt(object, 'metadata', 'deletionTimestamp')
  if (deletedAt !== undefined) {
    return { is: 'Terminating', reason: 'Terminating', message: `it is being deleted since ${deletedAt}` }
  }
  const [observed, wanted] = [
    numberAt(object, 'status', 'observedGeneration'),
    numberAt(object, 'metadata', 'generation'),
  ]
  if (observed !== undefined && wanted !== undefined && observed < wanted) {
    return inProgress('NotObserved', `its controller has seen generation ${observed} of ${wanted}`)
  }
  const stalled = conditionOf(object, 'Stalled')
  if (stalled?.status === 'True') return failed(stalled.reason ?? 'Stalled', conditionText('Stalled', stalled))
  const reconciling = conditionOf(object, 'Reconciling')
  if (reconciling?.status !== 'True') return undefined
  return inProgress(reconciling.reason ?? 'Reconciling', conditionText('Reconciling', reconciling))
}

/** The first of these that an object bears speaks for it. */
function byCondition(object: JsonObject): Health {
  for (const type of ['Ready', 'Available', 'Synced']) {
    const found = conditionOf(object, type)
    if (found?.status === 'True') return current(conditionText(type, found))
    if (found) return inProgress(found.reason ?? `Not${type}`, conditionText(type, found))
  }
  return current('it exists')
}

const ruleId = (group: string, kind: string): string =>
  // All routes of the Gateway API are alike.
  group === gatewayGroup && kind.endsWith('Route') ? `*Route.${group}` : `${kind}.${group}`

const gatewayGroup = 'gateway.networking.k8s.io'

const kindRules: Readonly<Record<string, KindRule>> = {
  'Deployment.apps': deploymentRule,
  'StatefulSet.apps': statefulSetRule,
  'DaemonSet.apps': daemonSetRule,
  'ReplicaSet.apps': replicaSetRule,
  'ReplicationController.': replicaSetRule,
  'Pod.': podRule,
  'Job.batch': jobRule,
  'CronJob.batch': cronJobRule,
  'PersistentVolumeClaim.': claimRule,
  'Service.': serviceRule,
  'Ingress.networking.k8s.io': ingressRule,
  [`Gateway.${gatewayGroup}`]: gatewayRule,
  [`*Route.${gatewayGroup}`]: routeRule,
  'HorizontalPodAutoscaler.autoscaling': autoscalerRule,
  'PodDisruptionBudget.policy': budgetRule,
  'CustomResourceDefinition.apiextensions.k8s.io': definitionRule,
  'APIService.apiregistration.k8s.io': apiServiceRule,
  'Namespace.': namespaceRule,
}

/** Of the API server itself: what has no rule here has no state of its own. */
const builtInGroups: ReadonlySet<string> = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
])
