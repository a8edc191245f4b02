import { type Command, Option } from 'commander'
import { isNotFound, resources } from '../kube/index.ts'
import {
  changeText,
  dryRunChanges,
  keyId,
  keyText,
  manifestText,
  type Plan,
  planMarkdown,
  planText,
  portsOf,
  provenanceText,
  type RunParts,
  type Step,
  type Survey,
  survey,
} from '../sync/index.ts'
import type { CliContext } from './context.ts'
import { addSyncOptions, type SyncFlags, withSync } from './sync-options.ts'

type PlanFlags = SyncFlags & { readonly output: 'text' | 'json' | 'markdown'; readonly verbose: boolean }

/** Exit codes of everything that plans: 0 nothing to do, 2 changes are pending, 3 a person has to decide. */
export function planExitCode(plan: Plan): number {
  if (needsPerson(plan)) return 3
  return plan.steps.some((step) => (step.do !== 'keep' && step.do !== 'wait') || isLeaving(step)) ? 2 : 0
}

/** A deletion of something that is ours is under way: until it has ended, the namespace is not what git says. */
export function isLeaving(step: Step): boolean {
  return step.do === 'wait' && step.waitsFor === 'removal' && !step.isStranger
}

/** Something is not ours to decide: a conflict, a budget, a confirmation. */
export function needsPerson({ steps, halts }: Plan): boolean {
  return (
    halts.length > 0 ||
    steps.some((step) => step.do === 'conflict' || (step.do === 'wait' && step.waitsFor === 'confirmation'))
  )
}

/** Without what has been seen by the way: strangers of the whole cluster, unless --cluster-kind names them. */
export function askedOnly<F extends Pick<Survey, 'plan' | 'memory'>>(found: F): F {
  const { plan, memory } = found
  const members = new Set(memory.inventory.members.map(({ key }) => keyId(key)))
  const isByTheWay = (step: Step) =>
    step.do === 'keep' &&
    step.key.namespace === '' &&
    !members.has(keyId(step.key)) &&
    (step.rule === 'out-of-scope' || step.key.kind === 'Namespace')
  return { ...found, plan: { ...plan, steps: plan.steps.filter((step) => !isByTheWay(step)) } }
}

export function addSyncPlanCommands(sync: Command, context: CliContext): void {
  addSyncOptions(sync.command('plan'))
    .description(
      'what would be done, deletions first; changes nothing; exit code 0: nothing to do, 2: changes, 3: blocked',
    )
    .option('-v, --verbose', 'also name each object that nothing declares and that stays', false)
    .addOption(new Option('-o, --output <format>').choices(['text', 'json', 'markdown']).default('text'))
    .action((flags: PlanFlags) =>
      withSync(flags, context, async (parts) => {
        const found = askedOnly(await survey(portsOf(parts), parts.settings, parts.permits, context.signal))
        await warnOfMissingNamespaces(parts, found, context)
        context.out(planOutput(found, flags, context.nowMs()))
        context.exitCode(planExitCode(found.plan))
      }),
    )

  addSyncOptions(sync.command('diff'))
    .description(
      'the fields that would change, as the server would store them; values of Secrets are not shown; exit codes as plan',
    )
    .action((flags: SyncFlags) =>
      withSync(flags, context, async (parts) => {
        const found = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        await warnOfMissingNamespaces(parts, found, context)
        for (const step of found.plan.steps) {
          if (step.do === 'delete') context.out(`- ${keyText(step.key)}: ${step.why}\n`)
          if (step.do !== 'create' && step.do !== 'update' && step.do !== 'adopt') continue
          context.out(
            `${step.do === 'create' ? '+' : '~'} ${keyText(step.key)} (${provenanceText(step.declared.from)})\n`,
          )
          const isSecret = step.key.kind === 'Secret'
          for (const change of await dryRunChanges(parts, found, step, context.signal))
            context.out(`    ${changeText(change, isSecret)}\n`)
        }
        context.exitCode(planExitCode(found.plan))
      }),
    )

  addSyncOptions(sync.command('render'))
    .description('what git declares, as it would be sent; values of Secrets are not shown')
    .action((flags: SyncFlags) =>
      withSync(flags, context, async (parts) => {
        const { set } = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        for (const object of set.objects)
          context.out(`---\n# ${provenanceText(object.from)}\n${manifestText(object.body, { hidesSecrets: true })}`)
      }),
    )
}

/** A plan for a namespace that is not there lists what would be made; a run refuses. Better to know before. */
async function warnOfMissingNamespaces(
  { client, settings }: Pick<RunParts, 'client' | 'settings'>,
  { observed }: Survey,
  context: CliContext,
): Promise<void> {
  for (const name of settings.policy.namespaces) {
    if (observed.objects.some(({ key }) => key.kind === 'Namespace' && key.group === '' && key.name === name)) continue
    const isMissing = await client.get(resources.namespaces, { name }, { signal: context.signal }).then(
      () => false,
      // Who may not look does not know.
      isNotFound,
    )
    if (isMissing) context.err(`namespace ${name} is not there; make it first: kubectl create namespace ${name}\n`)
  }
}

function planOutput(found: Survey, { output, verbose }: PlanFlags, nowMs: number): string {
  if (output === 'markdown') return planMarkdown(found)
  if (output === 'text') return planText(found, { isColored: false, isVerbose: verbose, nowMs })
  const { plan, tip, memory } = found
  const steps = plan.steps.map((step) => {
    if (!('declared' in step)) return step
    const { declared, ...rest } = step
    return { ...rest, from: declared.from }
  })
  const verdict = memory.inventory.verdicts.find(({ revision }) => revision === tip.sha)
  return `${JSON.stringify({ ...plan, steps, verdict }, null, 2)}\n`
}
