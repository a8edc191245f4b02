import type { Check, CheckAnswer, CheckChain, Named, PassContext } from '../plugin.ts'
import type { ChainResult, CheckResult } from './result.ts'

/** Asks every check of the chain, also those that cannot change the outcome any more. One that cannot tell spoils it. */
export async function evaluateChain(chain: CheckChain, context: PassContext): Promise<ChainResult> {
  const checks: CheckResult[] = []
  for (const named of chain.checks) checks.push(await ask(named, context))
  return outcomeOf(chain, checks)
}

/**
 * The same chain once more, because the cluster is seen otherwise now. What was asked of somebody outside is not asked
 * again: others wait for the answer, and an endpoint that is slow would hold up all of them.
 */
export async function evaluateAgain(
  chain: CheckChain,
  before: ChainResult,
  context: PassContext,
): Promise<ChainResult> {
  const checks: CheckResult[] = []
  for (const [index, named] of chain.checks.entries()) {
    const known = before.checks[index]
    const isKept = known?.isFromOutside === true && named.instance.isShared !== true
    checks.push(isKept ? known : await ask(named, context))
  }
  return outcomeOf(chain, checks)
}

/** Why a chain that passed does not pass now that other nodes count; nothing if it still passes. */
export function whyNoLonger(before: ChainResult, now: ChainResult): string | undefined {
  if (now.error !== undefined) return now.error
  if (now.isPassed) return undefined
  const changed = now.checks.filter(({ isPassed }, index) => isPassed !== before.checks[index]?.isPassed)
  const known = before.checks.flatMap(nodesIn)
  const nodes = [...new Set(changed.flatMap(nodesIn))].filter((name) => !known.includes(name))
  const more = nodes.length > mostNames ? ` and ${nodes.length - mostNames} more` : ''
  const first = nodes.length === 0 ? '' : `: ${nodes.slice(0, mostNames).join(', ')}${more}`
  const checks = changed.map(({ name, type, isPassed }) => `${name} (${type}) says ${isPassed ? 'yes' : 'no'} now`)
  return `other nodes were first${first}; ${checks.join(', ')}`
}

const mostNames = 5

/** The nodes that a check counted, if it says so. */
function nodesIn({ info: { nodes } }: CheckResult): readonly string[] {
  return Array.isArray(nodes) ? nodes.filter((name) => typeof name === 'string') : []
}

function outcomeOf(chain: CheckChain, checks: readonly CheckResult[]): ChainResult {
  const failed = checks.filter(({ error }) => error !== undefined)
  const { expression } = chain
  if (failed.length === 0)
    return { expression, isPassed: chain.evaluate(checks.map(({ isPassed }) => isPassed)), checks }
  const error = failed.map((check) => `${check.name}: ${check.error}`).join('; ')
  return { expression, isPassed: false, error, checks }
}

async function ask({ name, type, instance }: Named<Check>, context: PassContext): Promise<CheckResult> {
  try {
    const answer = instance.check(context)
    if (!(answer instanceof Promise)) return { name, type, isPassed: answer.isPassed, info: answer.info }
    const { isPassed, info } = await inTime(answer, context.signal)
    return { name, type, isPassed, info, isFromOutside: true }
  } catch (error) {
    context.signal.throwIfAborted()
    return { name, type, isPassed: false, info: {}, error: messageOf(error) }
  }
}

const deadlineMs = 15_000

/** A check that never answers holds up its own node alone, and not for ever. */
async function inTime(answer: Promise<CheckAnswer>, signal: AbortSignal): Promise<CheckAnswer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs / 1_000} s`)), deadlineMs)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
    answer.catch(() => undefined)
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
