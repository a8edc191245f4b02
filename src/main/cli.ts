import { createInterface } from 'node:readline/promises'
import { CommanderError } from 'commander'
import { type CliContext, createProgram } from '../cli/index.ts'
import { DevFault } from '../dev/index.ts'
import { runAgent } from './agent.ts'
import { runController } from './controller.ts'

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
  await createProgram(context, { controller: runController, agent: runAgent }).parseAsync(process.argv)
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode
  else if (stop.signal.aborted) {
    // Whatever failed did so because it was stopped; only what could not be undone is worth a word.
    const left = error instanceof DevFault ? `: ${error.message}` : ''
    process.stderr.write(`\nfettle: ${(stop.signal.reason as Error).message}${left}\n`)
  } else {
    process.stderr.write(`\nfettle: ${explain(error)}\n`)
    process.exitCode ||= 1
  }
}

/** Faults that we raise on purpose carry a code and a sentence; anything else is a bug and shows where. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.message : (error.stack ?? error.message)
}
