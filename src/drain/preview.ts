import type { PodDisruptionBudget } from '../kube/index.ts'
import type { AskResult } from './ask-pods.ts'
import { budgetKey, budgetsOf, drawsFrom, type Refusal, refusalOf } from './disruption-budgets.ts'
import { type DrainWorld, type JudgedPod, judgePods } from './plan.ts'
import { missingDaemonSets } from './stopped-daemonsets.ts'

/** One pod of a node, and what would become of it if the node were drained now. */
export interface PreviewedPod {
  readonly pod: string
  readonly fate: JudgedPod['fate']
  readonly stage: JudgedPod['stage']
  /**
   * stays: is not moved. now: can leave. later: once something has changed that changes by itself, such as a replica
   * that becomes ready elsewhere. never: not before a person does something.
   */
  readonly leaves: 'stays' | 'now' | 'later' | 'never'
  readonly why: string
  /** The PodDisruptionBudget that it draws from or that refuses. */
  readonly pdb?: string
  /** What the API server answered to one dry run. */
  readonly dryRun?: string
}

export interface PreviewedBudget {
  readonly pdb: string
  /** Pods of this node that it protects and that have to leave. */
  readonly pods: number
  readonly mayLeaveNow: number
  readonly neverPasses: boolean
}

export interface DrainPreview {
  /** In the order in which they go. */
  readonly pods: readonly PreviewedPod[]
  readonly budgets: readonly PreviewedBudget[]
  /** What was asked for and comes to nothing; it stops no drain. */
  readonly warnings: readonly string[]
  /** Whether every pod that has to leave can, sooner or later, without a person. */
  readonly canFinish: boolean
}

/** The same judgement as the drain's own, beside what the server says to each pod alone. */
export function previewDrain(world: DrainWorld, dryRuns: ReadonlyMap<string, AskResult>): DrainPreview {
  const judged = judgePods(world)
  const pods = judged.map((one) => previewPod(one, world, dryRuns.get(one.pod.metadata.uid ?? '')))
  const { daemonSets, settings } = world
  return {
    pods,
    budgets: sums(judged, world),
    warnings: daemonSets ? missingDaemonSets(settings.stopDaemonSets ?? [], daemonSets) : [],
    canFinish: pods.every(({ leaves }) => leaves !== 'never'),
  }
}

function previewPod(judged: JudgedPod, { budgets }: DrainWorld, dryRun: AskResult | undefined): PreviewedPod {
  const { pod, fate, stage, why, ask, refusal } = judged
  const budget = refusal?.budget ?? ask?.budget ?? budgetsOf(pod, budgets)[0]
  const seen = {
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    fate,
    stage,
    ...(budget ? { pdb: budgetKey(budget) } : {}),
    ...(dryRun ? { dryRun: 'why' in dryRun ? `${dryRun.result}: ${dryRun.why}` : dryRun.result } : {}),
  }
  if (fate === 'stay' || fate === 'stuck') return { ...seen, leaves: 'stays', why }
  if (fate === 'leaving') return { ...seen, leaves: 'now', why }
  if (refusal) return { ...seen, leaves: refusal.neverPasses ? 'never' : 'later', why: refusalWhy(refusal, why) }
  // The server knows of what no figure shows: an admission webhook, a namespace that is going, missing rights.
  if (dryRun?.result === 'refused') return { ...seen, leaves: 'later', why: dryRun.why }
  if (dryRun?.result === 'failed') return { ...seen, leaves: 'never', why: dryRun.why }
  return { ...seen, leaves: 'now', why }
}

function refusalWhy({ pod, budget, why }: Refusal, otherwise: string): string {
  if (!budget || refusalOf(pod, [budget])) return why
  // Alone it could go: those before it take what there is.
  return `${otherwise}, when those before it are ready again elsewhere: PodDisruptionBudget ${budgetKey(budget)} lets ${budget.status?.disruptionsAllowed ?? 0} go at a time`
}

function sums(judged: readonly JudgedPod[], { budgets }: DrainWorld): PreviewedBudget[] {
  const goes = judged.filter(({ fate }) => fate === 'evict')
  return budgets.flatMap((budget: PodDisruptionBudget) => {
    const covered = goes.filter(({ pod }) => budgetsOf(pod, [budget]).length > 0 && drawsFrom(pod, budget))
    if (covered.length === 0) return []
    return {
      pdb: budgetKey(budget),
      pods: covered.length,
      mayLeaveNow: covered.filter(({ ask }) => ask).length,
      neverPasses: covered.some(({ refusal }) => refusal?.neverPasses),
    }
  })
}
