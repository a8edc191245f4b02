import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { lastWords, SourceFault } from './source-fault.ts'

export interface GitPlace {
  readonly gitDir: string
  /** Ways to other machines that this call may take; none, if none is named. */
  readonly protocols?: readonly string[]
}

export interface GitResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Stronger than what the repository says of itself: its settings can name programs to run. Checks that refuse old but
 * harmless commits of well-known repositories are left out.
 */
const settings: readonly string[] = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.alternateRefsCommand=',
  'core.askPass=',
  'credential.helper=',
  'log.showSignature=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  // A line that has gone dead.
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
  'fetch.fsckObjects=true',
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'fetch.fsck.badTimezone=ignore',
]

/** What a way to another machine needs to know of this one. */
const wayVariables = ['HOME', 'SSH_AUTH_SOCK', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'NO_PROXY']
const moreWayVariables = ['no_proxy', 'GIT_SSL_CAINFO', 'GIT_SSL_CAPATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/**
 * Starts git with an environment of our own. The one of this process is not passed on: inside a hook it names another
 * repository, and its GIT_CONFIG variables could bring any setting.
 */
export function startGit(
  args: readonly string[],
  { gitDir, protocols = [] }: GitPlace,
): ChildProcessWithoutNullStreams {
  const argv = [`--git-dir=${gitDir}`, '--no-pager', ...settings.flatMap((setting) => ['-c', setting]), ...args]
  // A group of its own, so that what git started ends with it.
  return spawn('git', argv, { cwd: '/', env: environment(protocols), detached: true })
}

function environment(protocols: readonly string[]): Record<string, string> {
  const passed = protocols.length === 0 ? [] : [...wayVariables, ...moreWayVariables]
  return {
    // Versions before 2.32 find the settings of the user there, and nowhere else.
    HOME: '/nonexistent',
    ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    // An object that a partial clone lacks is missing; git would fetch it, by a program that the repository names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: protocols.join(':') || 'none',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_VARIANT: 'ssh',
    // A host that is not known yet is not trusted: its key has to be in known_hosts.
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oConnectTimeout=15',
  }
}

export interface GitLimits {
  readonly signal: AbortSignal
  /** Default 60 s. */
  readonly deadlineMs?: number
}

const mostOutput = 64 * 1024 * 1024

/** Runs git to its end. An exit code other than 0 is a result. */
export async function runGit(args: readonly string[], place: GitPlace, limits: GitLimits): Promise<GitResult> {
  const { signal, deadlineMs = 60_000 } = limits
  signal.throwIfAborted()
  const child = startGit(args, place)
  child.stdin.on('error', () => undefined).end()
  let fault: unknown
  const stop = (why: unknown) => {
    fault ??= why
    void endGroup(child)
  }
  const onAbort = () => stop(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const late = () => new SourceFault('TimedOut', `git ${args[0]} was not finished after ${deadlineMs / 1000} s.`)
  const deadline = setTimeout(() => stop(late()), deadlineMs)
  const tooMuch = () => stop(new SourceFault('TooLarge', `git ${args[0]} said more than ${mostOutput} bytes.`))
  try {
    const [stdout, stderr] = [collect(child.stdout, tooMuch), collect(child.stderr, tooMuch)]
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(startFault(error)))
      child.once('close', (exitCode) => resolve(exitCode ?? 128))
    })
    if (fault !== undefined) throw fault
    return { code, stdout: stdout(), stderr: stderr() }
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', onAbort)
  }
}

export function startFault(error: NodeJS.ErrnoException): SourceFault {
  if (error.code === 'ENOENT')
    return new SourceFault('NoGit', 'There is no git on the PATH. Install git 2.32 or later.', { cause: error })
  return new SourceFault('NoGit', `git could not be started: ${lastWords(error.message)}`, { cause: error })
}

function collect(stream: NodeJS.ReadableStream, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > mostOutput) onTooMuch()
    else chunks.push(chunk)
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

/** Politely first: git then removes what it began to write. */
export async function endGroup({ pid }: { readonly pid?: number | undefined }): Promise<void> {
  if (pid === undefined) return
  signalGroup(pid, 'SIGTERM')
  for (let waitedMs = 0; waitedMs < 2_000 && signalGroup(pid, 0); waitedMs += 20)
    await sleep(20, undefined, { ref: false })
  signalGroup(pid, 'SIGKILL')
}

function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
