import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'

export interface RunOptions {
  readonly signal?: AbortSignal
  /** Default 60 s. The process and its children are ended when it passes. */
  readonly deadlineMs?: number
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Called with each line of stdout and stderr as it comes. */
  readonly onLine?: (line: string) => void
}

export interface RunResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command could not be started, ran past its deadline, or was stopped. An exit code other than 0 is a result. */
export class ProcessFault extends Error {
  readonly code = 'ProcessFault'
}

/** Runs a command to its end. Arguments are never seen by a shell. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const [command, ...args] = argv
  if (!command) throw new ProcessFault('no command was named')
  const stopped = () => new ProcessFault(`${command}: stopped on request`, { cause: options.signal?.reason })
  if (options.signal?.aborted) throw stopped()
  const deadlineMs = options.deadlineMs ?? 60_000
  const child = execa(command, args, {
    reject: false,
    stripFinalNewline: false,
    // A group of its own, so that what the command started ends with it.
    detached: true,
    maxBuffer: 64 * 1024 * 1024,
    stdin: options.input === undefined ? 'ignore' : 'pipe',
    ...(options.input === undefined ? {} : { input: options.input }),
    env: { PATH: searchPath(), ...options.env },
    ...(options.cwd ? { cwd: options.cwd } : {}),
  })
  if (options.onLine) followLines([child.stdout, child.stderr], options.onLine)
  let ending: Promise<ProcessFault> | undefined
  const end = (fault: ProcessFault) => {
    ending ??= endGroup(child.pid).then(() => fault)
  }
  const onAbort = () => end(stopped())
  options.signal?.addEventListener('abort', onAbort, { once: true })
  const deadline = setTimeout(
    () => end(new ProcessFault(`${command}: not finished after ${deadlineMs / 1000} s`)),
    deadlineMs,
  )
  const result = await child
  clearTimeout(deadline)
  options.signal?.removeEventListener('abort', onAbort)
  if (ending) throw await ending
  if (result.exitCode === undefined && !result.signal)
    throw new ProcessFault(`${command}: ${result.shortMessage ?? 'could not be started'}`, { cause: result.cause })
  return { code: result.exitCode ?? 128, stdout: result.stdout ?? '', stderr: result.stderr ?? '' }
}

/** As Ctrl-C in a terminal would: on that signal, and not on SIGTERM, Go removes what it built half-way. */
async function endGroup(pid: number | undefined): Promise<void> {
  if (pid === undefined) return
  signalGroup(pid, 'SIGINT')
  for (let waitedMs = 0; waitedMs < 2_000 && signalGroup(pid, 0); waitedMs += 20) await sleep(20)
  signalGroup(pid, 'SIGKILL')
}

function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

/** Administrators' folders are not on every user's path, not even on root's after a plain `su`. */
function searchPath(): string {
  return [process.env['PATH'], '/usr/sbin', '/sbin'].filter(Boolean).join(':')
}

/** Runs a command that must succeed; the fault carries the end of what it said. */
export async function runOk(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const result = await run(argv, options)
  if (result.code !== 0) {
    const said = (result.stderr || result.stdout).trim().split('\n').slice(-8).join('\n')
    throw new ProcessFault(`${argv.slice(0, 3).join(' ')}: exit code ${result.code}\n${said}`)
  }
  return result
}

function followLines(streams: readonly (NodeJS.ReadableStream | null)[], onLine: (line: string) => void): void {
  for (const stream of streams) {
    let rest = ''
    stream?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) onLine(line)
    })
  }
}

/** A process is known by its id and the moment it started: ids are used again, pairs are not. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTicks: number
}

/** Starts a process that outlives this one, in a session of its own, writing to a log file. */
export async function startDetached(
  argv: readonly string[],
  options: { readonly logPath: string; readonly env?: Readonly<Record<string, string>>; readonly cwd?: string },
): Promise<ProcessIdentity> {
  const [command, ...args] = argv
  if (!command) throw new ProcessFault('no command was named')
  const log = openSync(options.logPath, 'a', 0o600)
  try {
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...options.env },
      ...(options.cwd ? { cwd: options.cwd } : {}),
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => reject(new ProcessFault(`${command}: could not be started`, { cause })))
    })
    child.unref()
    const pid = child.pid ?? 0
    return { pid, startTicks: startTicksOf(pid) ?? 0 }
  } finally {
    closeSync(log)
  }
}

/** Undefined when there is no such process; a zombie counts as gone. */
export function startTicksOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : Number(fields[19])
  } catch {
    return undefined
  }
}

export function isAlive(identity: ProcessIdentity): boolean {
  return startTicksOf(identity.pid) === identity.startTicks
}

/** Sends a signal only to the very process that was started, never to a later one with its id. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals, group = false): boolean {
  if (!isAlive(identity)) return false
  try {
    process.kill(group ? -identity.pid : identity.pid, signal)
    return true
  } catch {
    return false
  }
}

/**
 * Stops a process where it stands, and returns when its last thread stands still: on a busy machine the signal is taken
 * only when one of them gets its turn, and the others go on working until then.
 */
export async function freezeProcess(identity: ProcessIdentity): Promise<void> {
  signalProcess(identity, 'SIGSTOP')
  while (isAlive(identity) && !hasStopped(identity.pid)) await sleep(2)
}

function hasStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      return /^[TtZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
    })
  } catch {
    // A thread ended while we looked.
    return false
  }
}

/** Ends a process: politely, then, after `graceMs`, for good. Resolves when it is gone. */
export async function endProcess(
  identity: ProcessIdentity,
  options: { readonly graceMs?: number; readonly group?: boolean } = {},
): Promise<void> {
  const group = options.group ?? false
  signalProcess(identity, 'SIGTERM', group)
  // A stopped process does not see the signal before it continues.
  signalProcess(identity, 'SIGCONT', group)
  if (await gone(identity, options.graceMs ?? 10_000)) return
  signalProcess(identity, 'SIGKILL', group)
  if (!(await gone(identity, 10_000))) throw new ProcessFault(`process ${identity.pid} survived SIGKILL for 10 s`)
}

async function gone(identity: ProcessIdentity, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; isAlive(identity); waitedMs += 20) {
    if (waitedMs >= withinMs) return false
    await sleep(20)
  }
  return true
}
