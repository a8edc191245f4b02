import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { budgetKey, budgetsOf, drawsFrom, type Refusal, refusalOf } from './disruption-budgets.ts'
import { type DrainStage, fateOf, type PodFate, stages } from './pod-fate.ts'
import type { DaemonSetName, DaemonSets } from './stopped-daemonsets.ts'

/** How pods are made to leave. Auto takes EvictionRequest where the server offers it, else Eviction. */
export type DrainBackend = 'Auto' | 'Eviction' | 'EvictionRequest' | 'Delete'

export interface DrainSettings {
  /** The longest grace period that a pod gets; without it, each pod's own. */
  readonly gracePeriodMaxMs?: number
  readonly backend: DrainBackend
  /** The deadline has passed and somebody wanted it so: what is left is deleted, no budget is asked. */
  readonly isForced: boolean
  /** What becomes of pods that nothing would start again. Refuse unless said otherwise. */
  readonly unmanaged?: 'Refuse' | 'Evict'
  /** DaemonSets whose pods leave as well; without it none. The node has to keep them from coming back. */
  readonly stopDaemonSets?: readonly DaemonSetName[]
}

export interface DrainWorld {
  /** All pods of the node. */
  readonly pods: readonly PodObject[]
  readonly budgets: readonly PodDisruptionBudget[]
  /** The DaemonSets that exist; undefined is unknown. */
  readonly daemonSets?: DaemonSets
  readonly isNodeReady: boolean
  readonly settings: DrainSettings
  /** Tells Fettle's own controller pods, which go last. */
  readonly ownPods?: (pod: PodObject) => boolean
  /** Whether another node could run them; unless it is known, they stay. */
  readonly hasOtherNodes?: boolean
  /** Whether the server has EvictionRequests; undefined is unknown. */
  readonly offersEvictionRequest?: boolean
  /** What the API server said last to pods that were asked in vain, by their UID. */
  readonly answers?: ReadonlyMap<string, string>
  readonly nowMs: number
}

/** One pod to be asked now, and how. */
export interface PodToAsk {
  readonly pod: PodObject
  readonly how: 'evict' | 'delete' | 'request'
  /** Absent: the pod's own. */
  readonly gracePeriodSeconds?: number
  /** The budget that it draws from. */
  readonly budget?: PodDisruptionBudget
}

export interface DrainPlan {
  readonly fates: readonly JudgedPod[]
  /** Pods to ask now: as many of each budget as it has to give, the others wait without being asked. */
  readonly askNow: readonly PodToAsk[]
  /** One pod of each budget that seems to have nothing to give, to be asked now and then: the API server knows best. */
  readonly askLater: readonly PodToAsk[]
  /** Pods that have to leave and are still there. */
  readonly left: readonly PodObject[]
  /** The stage that is under way; undefined when all have left. */
  readonly stage: DrainStage | undefined
  readonly refusals: readonly Refusal[]
  /** What the present stage waits for, in one sentence; and who was to be stopped and cannot be. */
  readonly waitsFor: string
}

/** One pod, and what asking it to leave would come to, its place in the line considered. */
export interface JudgedPod extends PodFate {
  readonly ask?: PodToAsk
  readonly refusal?: Refusal
}

/** All pods of the node, in the order in which they go; each draws from what those before it left of the budgets. */
export function judgePods(world: DrainWorld): JudgedPod[] {
  const fates = world.pods.map((pod) => fateOf(pod, world)).sort(byTurn)
  const room = roomAfterLeaving(world, fates)
  return fates.map((one) => {
    if (one.fate === 'refuse') return { ...one, refusal: { pod: one.pod, why: one.why, neverPasses: true } }
    return one.fate === 'evict' ? { ...one, ...judge(one.pod, world, room) } : one
  })
}

export function planDrain(world: DrainWorld): DrainPlan {
  const { isForced } = world.settings
  const fates = judgePods(world)
  const going = fates.filter(({ fate }) => fate !== 'stay' && fate !== 'stuck')
  const stage = stageNow(going, isForced)
  const refusals: Refusal[] = []
  const askNow: PodToAsk[] = []
  const askLater = new Map<string, PodToAsk>()
  for (const { ask, refusal, stage: own } of going) {
    const isNow = own === stage || (isForced && isHurried(stage) && isHurried(own))
    // What only its turn will tell is not news before; what can never pass is.
    if (refusal && (isNow || refusal.neverPasses)) refusals.push(refusal)
    if (!isNow) continue
    if (refusal?.budget && !refusal.neverPasses && !askLater.has(budgetKey(refusal.budget)))
      askLater.set(budgetKey(refusal.budget), askBy('evict', refusal.pod, world.settings, refusal.budget))
    if (!ask) continue
    askNow.push(ask)
    const why = world.answers?.get(ask.pod.metadata.uid ?? '')
    if (why !== undefined)
      refusals.push({ pod: ask.pod, ...(ask.budget ? { budget: ask.budget } : {}), why, neverPasses: false })
  }
  // A budget that gives to one of them now is not asked for more.
  for (const { budget } of askNow) if (budget) askLater.delete(budgetKey(budget))
  const left = going.map(({ pod }) => pod)
  const waitsFor = [sentenceOf(going, stage, refusals.length), ...unstopped(fates)].join('; ')
  return { fates, askNow, askLater: [...askLater.values()], left, stage, refusals, waitsFor }
}

/** In a forced drain these go together. */
function isHurried(stage: DrainStage | undefined): boolean {
  return stage === 'ordinary' || stage === 'critical'
}

/**
 * One stage after the other. A forced drain waits only until all have been asked; but our own pods do the asking, and
 * DaemonSets that are to be stopped serve the others until they are gone.
 */
function stageNow(going: readonly PodFate[], isForced: boolean): DrainStage | undefined {
  const waiting = isForced
    ? going.filter(({ fate, stage }) => stage === 'own' || (isHurried(stage) && fate !== 'leaving'))
    : going
  return stages.find((stage) => waiting.some((one) => one.stage === stage)) ?? going[0]?.stage
}

/** Within a stage the lowest priority first: it gets what little a budget has to give. */
function byTurn(a: PodFate, b: PodFate): number {
  return stages.indexOf(a.stage) - stages.indexOf(b.stage) || (a.pod.spec?.priority ?? 0) - (b.pod.spec?.priority ?? 0)
}

type Room = Map<string, number>

/** A deletion is not counted by the server at once, as an eviction is: what is under way has used up its share. */
function roomAfterLeaving({ budgets, settings }: DrainWorld, fates: readonly PodFate[]): Room {
  const room: Room = new Map()
  if (settings.backend === 'Delete')
    for (const { pod, fate } of fates)
      if (fate === 'leaving')
        for (const budget of budgetsOf(pod, budgets)) if (drawsFrom(pod, budget)) take(room, budget)
  return room
}

function judge(
  pod: PodObject,
  world: DrainWorld,
  room: Room,
): { readonly ask: PodToAsk } | { readonly refusal: Refusal } {
  const { settings, offersEvictionRequest = false } = world
  if (settings.isForced) return { ask: askBy('delete', pod, settings) }
  if (settings.backend === 'EvictionRequest' && !offersEvictionRequest)
    return {
      refusal: {
        pod,
        why: 'the settings of the drain ask for EvictionRequest, which this server does not offer (lifecycle.k8s.io); ask for Auto or Eviction',
        neverPasses: true,
      },
    }
  // Who answers such a request asks the budgets itself, and may first make room for it.
  if (offersEvictionRequest && (settings.backend === 'EvictionRequest' || settings.backend === 'Auto'))
    return { ask: { pod, how: 'request' } }
  const covering = budgetsOf(pod, world.budgets)
  const refusal = refusalOf(pod, covering, room)
  if (refusal) return { refusal }
  const budget = covering.find((one) => drawsFrom(pod, one))
  if (budget) take(room, budget)
  const how = settings.backend === 'Delete' ? 'delete' : 'evict'
  return { ask: askBy(how, pod, settings, budget) }
}

function askBy(
  how: 'evict' | 'delete',
  pod: PodObject,
  settings: DrainSettings,
  budget?: PodDisruptionBudget,
): PodToAsk {
  return { pod, how, ...shorterGrace(pod, settings), ...(budget ? { budget } : {}) }
}

function take(room: Room, budget: PodDisruptionBudget): void {
  const key = budgetKey(budget)
  room.set(key, (room.get(key) ?? budget.status?.disruptionsAllowed ?? 0) - 1)
}

const kubernetesGraceSeconds = 30

/** Never 0: that takes the pod out of the API while its processes may still run. */
export function graceSeconds(
  pod: PodObject,
  { gracePeriodMaxMs = Number.POSITIVE_INFINITY }: Pick<DrainSettings, 'gracePeriodMaxMs'>,
): number {
  return Math.min(ownGraceSeconds(pod), Math.max(1, Math.floor(gracePeriodMaxMs / 1000)))
}

function ownGraceSeconds({ spec }: PodObject): number {
  return spec?.terminationGracePeriodSeconds ?? kubernetesGraceSeconds
}

function shorterGrace(pod: PodObject, settings: DrainSettings): { readonly gracePeriodSeconds?: number } {
  const gracePeriodSeconds = graceSeconds(pod, settings)
  return gracePeriodSeconds < ownGraceSeconds(pod) ? { gracePeriodSeconds } : {}
}

const stageNames: Readonly<Record<DrainStage, string>> = {
  ordinary: 'pod',
  critical: 'system-critical pod',
  own: 'pod of Fettle itself',
  daemonSet: 'DaemonSet pod',
}

function sentenceOf(going: readonly PodFate[], stage: DrainStage | undefined, refused: number): string {
  if (stage === undefined) return 'all pods have left'
  const of = (one: DrainStage) => going.filter((pod) => pod.stage === one)
  const stopping = of(stage).filter(({ fate }) => fate === 'leaving').length
  const parts = [
    `still there: ${count(of(stage).length, stage)}`,
    ...(stopping > 0 ? [`stopping: ${stopping}`] : []),
    ...(refused > 0 ? [`cannot leave now: ${refused}`] : []),
    ...stages
      .slice(stages.indexOf(stage) + 1)
      .flatMap((later) => (of(later).length > 0 ? [`then ${count(of(later).length, later)}`] : [])),
  ]
  return parts.join(', ')
}

/** Who was to be stopped and stays: the first of them with the reason, and how many others. */
function unstopped(fates: readonly PodFate[]): string[] {
  const reasons = fates.filter(({ stage, fate }) => stage === 'daemonSet' && fate === 'stay').map(({ why }) => why)
  const [first, ...others] = new Set(reasons)
  if (first === undefined) return []
  return [others.length > 0 ? `${first} (and ${others.length} more)` : first]
}

function count(number: number, stage: DrainStage): string {
  return `${number} ${number === 1 ? stageNames[stage] : stageNames[stage].replace('pod', 'pods')}`
}
