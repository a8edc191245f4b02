import type { Command } from 'commander'
import {
  keyId,
  keyText,
  type Outcome,
  type Plan,
  planText,
  type Run,
  runSyncAlways,
  runSyncOnce,
  type Survey,
  SyncRejected,
  type Told,
} from '../sync/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { addSyncOptions, rejectionText, type SyncFlags, withSync } from './sync-options.ts'
import { askedOnly, isLeaving, needsPerson, planExitCode } from './sync-plan.ts'

type RunFlags = SyncFlags & { readonly yes: boolean; readonly once?: boolean; readonly watch?: boolean }

export function addSyncRunCommands(sync: Command, context: CliContext): void {
  addSyncOptions(sync.command('apply'))
    .description('shows the plan, asks, and carries it out until all is healthy and what has to go is gone')
    .option('--yes', 'carry the plan out without asking; it is no approval of deletions beyond the budget', false)
    .action((flags: RunFlags) => runOnce(flags, context))

  addSyncOptions(sync.command('run'))
    .description('git to cluster: once, or again whenever git moves')
    .option('--once', 'one time')
    .option('--watch', 'until it is stopped')
    .option('--yes', 'carry plans out without asking; it is no approval of deletions beyond the budget', false)
    .action((flags: RunFlags) => {
      if (flags.once === flags.watch) throw new CliFault('say either --once or --watch')
      return flags.once ? runOnce(flags, context) : runAlways(flags, context)
    })
}

async function runOnce(flags: RunFlags, context: CliContext): Promise<void> {
  const run = await withSync(flags, context, (parts) =>
    runSyncOnce({ ...parts, mayCarryOut: (found) => mayCarryOut(found, flags.yes, context) }, context.signal),
  )
  if (!run.outcome) {
    context.err('Nothing was changed.\n')
    context.exitCode(planExitCode(run.found.plan))
    return
  }
  context.out(outcomeText(run))
  context.exitCode(runExitCode(run))
}

async function runAlways(flags: RunFlags, context: CliContext): Promise<void> {
  if (!flags.yes) throw new CliFault('with --watch nobody is asked: say --yes, and try `fettle sync plan` first')
  const told = toldOnce()
  await withSync(flags, context, (parts) =>
    runSyncAlways(
      { ...parts, mayCarryOut: () => Promise.resolve(true) },
      (one) => context.out(told(one)),
      context.signal,
    ),
  ).catch((error: unknown) => {
    if (!context.signal.aborted) throw error
  })
}

/** What there is to say, and nothing that was said just before: looks that see the same go on for ever. */
export function toldOnce(): (told: Told) => string {
  let last = ''
  return (told) => {
    if ('findings' in told) return findingsText(told.findings)
    const text = 'error' in told ? errorText(told.error) : outcomeText(told)
    const isNews = text !== last || ('outcome' in told && hasWritten(told.outcome))
    last = text
    return isNews ? text : ''
  }
}

/** What is undone twice was done twice. */
function hasWritten(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && outcome.is !== 'Failed' && outcome.is !== 'Quiet'
}

function errorText(error: unknown): string {
  if (error instanceof SyncRejected) return `${rejectionText(error)}\n`
  return `${error instanceof Error ? error.message : String(error)}\n`
}

function findingsText(findings: readonly string[]): string {
  const remedy = 'Nothing is repaired by itself: stop this, and `fettle sync verify --repair` does what follows'
  return [`warning: what is remembered is not what is there. ${remedy}`, ...findings, ''].join('\n')
}

async function mayCarryOut(found: Survey, isYes: boolean, context: CliContext): Promise<boolean> {
  const { plan } = found
  context.err(planText(askedOnly(found), { isColored: false }))
  if (planExitCode(plan) === 0 || isYes) return true
  const answer = await context.ask?.('Carry this out? Type yes: ')
  if (answer === undefined) throw new CliFault('nobody is here to confirm this: say --yes. Nothing was changed.')
  return answer.trim() === 'yes'
}

/** 0: the namespace equals git. 3: it does but for what a person has to decide, 2: for what is still leaving. 1: it does not. */
function runExitCode({ found, outcome }: Run): number {
  if (outcome?.is === 'Failed' || outcome?.is === 'Rejected')
    return found.plan.steps.some((step) => step.do === 'conflict') ? 3 : 1
  // Nothing was done: because there is nothing to do, or because the mode is observe.
  if (outcome?.is === 'Quiet') return planExitCode(found.plan)
  if (needsPerson(found.plan)) return 3
  return found.plan.steps.some(isLeaving) ? 2 : 0
}

export function outcomeText({ found, outcome, afterwards }: Run): string {
  const sha = found.tip.sha.slice(0, 12)
  if (!outcome) return `${sha}: not carried out\n`
  const lines = [
    ...outcome.created.map((key) => `created  ${keyText(key)}`),
    ...outcome.changed.map((key) => `changed  ${keyText(key)}`),
    ...outcome.gone.map(({ key, seconds }) => `gone     ${keyText(key)} (${seconds.toFixed(1)} s)`),
    ...outcome.stuck.map(({ key, why }) => `stuck    ${keyText(key)}: ${why}`),
    ...outcome.remarks.map((remark) => `note     ${remark}`),
    ...outcome.problems.map((problem) => `problem  ${problem}`),
    `${sha} ${found.tip.subject}: ${summary(outcome, found)}${afterwards === undefined ? '' : `; ${afterwards}`}`,
  ]
  return `${lines.join('\n')}\n`
}

function summary({ is, created, changed, gone }: Outcome, { plan }: Survey): string {
  if (is === 'Superseded') return 'a newer commit is there, so nobody waits for the health of this one'
  if (is === 'Failed') return 'failed; what was applied stays, and nothing more was deleted'
  // What pods held when the plan was made may be gone by now.
  const goneIds = new Set(gone.map(({ key }) => keyId(key)))
  const waits = plan.steps.filter(({ do: does, key }) => does === 'wait' && !goneIds.has(keyId(key))).length
  const parts = [
    ...(created.length > 0 ? [`${created.length} created`] : []),
    ...(changed.length > 0 ? [`${changed.length} changed`] : []),
    ...(gone.length > 0 ? [`${gone.length} gone`] : []),
    `${plan.unchanged} unchanged`,
    ...(waits > 0 ? [`${waits} to be deleted later: see the plan`] : []),
  ]
  const isLeft = plan.steps.some(isLeaving)
  if (is === 'Quiet' && planExitCode(plan) === 2 && !isLeft) return 'nothing was changed, because the mode is observe'
  return `${stateText(plan, isLeft)} (${parts.join(', ')})`
}

function stateText({ halts }: Plan, isLeft: boolean): string {
  if (isLeft) return 'objects are still being deleted; run again when they are gone'
  return halts.length > 0 ? 'what git declares is there, and deletions are halted' : 'the namespace equals git'
}
