import type { Check, CheckAnswer, CheckChain, Named, PassContext } from '../plugin.ts'
import type { ChainResult, CheckResult } from './result.ts'

/** Asks every check of the chain, also those that cannot change the outcome any more. One that cannot tell spoils it. */
export async function evaluateChain(chain: CheckChain, context: PassContext): Promise<ChainResult> {
  const checks: CheckResult[] = []
  for (const named of chain.checks) checks.push(await ask(named, context))
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
    const { isPassed, info } = answer instanceof Promise ? await inTime(answer, context.signal) : answer
    return { name, type, isPassed, info }
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
