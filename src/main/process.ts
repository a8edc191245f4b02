import { createInterface } from 'node:readline/promises'
import { type Command, CommanderError } from 'commander'
import type { CliContext } from '../cli/index.ts'

/** Runs a program of commands with this process's arguments, ends with its exit code, and stops when it is told to. */
export async function runProgram(
  create: (context: CliContext) => Command,
  /** What is left to say about an error of a program that was stopped. */
  leftBehind: (error: unknown) => string | undefined = () => undefined,
): Promise<void> {
  const stop = new AbortController()
  let signals = 0
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.on(signal, () => {
      process.exitCode = code
      // The first one asks to clean up; somebody who insists gets out at once.
      if (++signals > 1) process.exit(code)
      stop.abort(new Error(`stopped by ${signal}`))
    })

  const context: CliContext = {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    progress: process.stderr,
    nowMs: () => Date.now(),
    ask: async (question) => {
      if (!process.stdin.isTTY) return undefined
      const reader = createInterface({ input: process.stdin, output: process.stderr })
      try {
        return await reader.question(question, { signal: stop.signal })
      } finally {
        reader.close()
      }
    },
    signal: stop.signal,
    exitCode: (code) => {
      process.exitCode = code
    },
  }
  // `fettle … | head` ends when the reader has seen enough; that is not a fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

  try {
    await create(context).parseAsync(process.argv)
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode
    else if (stop.signal.aborted) {
      // Whatever failed did so because it was stopped; only what could not be undone is worth a word.
      const left = leftBehind(error)
      process.stderr.write(
        `\nfettle: ${(stop.signal.reason as Error).message}${left === undefined ? '' : `: ${left}`}\n`,
      )
    } else {
      process.stderr.write(`\nfettle: ${explain(error)}\n`)
      process.exitCode ||= 1
    }
  }
}

/** Faults that we raise on purpose carry a code and a sentence; anything else is a bug and shows where. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.message : (error.stack ?? error.message)
}
