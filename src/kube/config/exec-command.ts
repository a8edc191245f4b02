import { spawn } from 'node:child_process'

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Gives the plugin our terminal for questions. */
  readonly isInteractive: boolean
  readonly deadlineMs: number
}

export type CommandResult = { readonly stdout: string; readonly stderrTail: string } & (
  | { readonly outcome: 'exited'; readonly exitCode: number | string }
  | { readonly outcome: 'missing' | 'flooded' }
  | { readonly outcome: 'unstartable'; readonly reason: string }
  | { readonly outcome: 'late'; readonly deadlineMs: number }
)

const mostStdout = 1024 * 1024
const stderrTailChars = 500

/** Runs a credential plugin: argv only, never a shell; killed at its deadline; output bounded. */
export function runCommand(command: Command): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command.command, command.args, {
      env: command.env,
      stdio: [command.isInteractive ? 'inherit' : 'ignore', 'pipe', command.isInteractive ? 'inherit' : 'pipe'],
      windowsHide: true,
    })
    const stdout: Buffer[] = []
    let stdoutBytes = 0
    let stderrTail = ''
    const finish = (result: (output: { stdout: string; stderrTail: string }) => CommandResult) => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      // A grandchild may keep the pipes open; nobody reads them any more.
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve(result({ stdout: Buffer.concat(stdout).toString('utf8'), stderrTail: stderrTail.trim() }))
    }
    const timer = setTimeout(() => {
      finish((output) => ({ ...output, outcome: 'late', deadlineMs: command.deadlineMs }))
    }, command.deadlineMs)
    child.stdout?.on('data', (chunk: Buffer) => {
      stdoutBytes += chunk.length
      if (stdoutBytes > mostStdout) finish((output) => ({ ...output, outcome: 'flooded' }))
      else stdout.push(chunk)
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      stderrTail = `${stderrTail}${chunk.toString('utf8')}`.slice(-stderrTailChars)
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish((output) =>
        error.code === 'ENOENT'
          ? { ...output, outcome: 'missing' }
          : { ...output, outcome: 'unstartable', reason: error.message },
      )
    })
    child.once('close', (code, signal) => {
      finish((output) => ({ ...output, outcome: 'exited', exitCode: code ?? signal ?? 'unknown' }))
    })
  })
}
