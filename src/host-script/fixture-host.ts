import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { hostScript } from './script.ts'

/** A host in a temporary folder, for the tests of this room: the real script, run by real shells. */

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The script refuses everybody else. */
export const isRoot = process.getuid?.() === 0

/** The shells that hosts have; each with the words that start it. */
export const shells = [['sh'], ['bash'], ['busybox', 'sh']].map((argv) => ({
  shell: argv.join(' '),
  argv,
  mayRun: isRoot && isInstalled(argv[0] ?? ''),
}))

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

export class FixtureHost {
  readonly argv: readonly string[]
  readonly folder = mkdtempSync(join(tmpdir(), 'fettle-host-'))
  readonly script = join(this.folder, 'host')
  readonly state = join(this.folder, 'state')
  readonly requests = join(this.state, 'requests')
  readonly lock = join(this.state, 'lock')
  readonly requestFile: string
  readonly permissionFile: string
  readonly bootIdFile = join(this.folder, 'boot_id')
  readonly env: Readonly<Record<string, string>>

  constructor(argv: readonly string[] = ['sh']) {
    this.argv = argv
    const var_ = join(this.folder, 'var')
    mkdirSync(var_)
    this.requestFile = join(var_, 'maintenance-required')
    this.permissionFile = join(var_, 'maintenance-in-progress')
    writeFileSync(this.script, hostScript, { mode: 0o755 })
    this.reboot('boot-1')
    this.env = {
      FETTLE_REQUEST_FILE: this.requestFile,
      FETTLE_PERMISSION_FILE: this.permissionFile,
      FETTLE_STATE_FOLDER: this.state,
      FETTLE_BOOT_ID_FILE: this.bootIdFile,
    }
  }

  reboot(bootId: string): void {
    writeFileSync(this.bootIdFile, `${bootId}\n`)
  }

  run(...args: readonly string[]): Promise<Ended> {
    return this.start(args).ended
  }

  /** In a process group of its own, so that a test can end it with everything that it started. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}, options: { readonly uid?: number } = {}) {
    return startProcess([...this.argv, this.script, ...args], { ...this.env, ...env }, options)
  }

  isAsked(): boolean {
    return existsSync(this.requestFile)
  }

  grant(): void {
    writeFileSync(this.permissionFile, '{}')
  }

  takePermissionBack(): void {
    rmSync(this.permissionFile)
  }

  /** What the agent would find. */
  names(): string[] {
    return existsSync(this.requests) ? readdirSync(this.requests).filter((name) => !name.startsWith('.')) : []
  }

  read(name: string): Record<string, string> {
    const lines = readFileSync(join(this.requests, name), 'utf8').trimEnd().split('\n')
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
  }

  /** Every file below the folders that the script writes to. */
  leftovers(): string[] {
    return [this.requests, this.lock, join(this.folder, 'var')].flatMap((folder) =>
      existsSync(folder) ? readdirSync(folder) : [],
    )
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function startProcess(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  options: { readonly uid?: number } = {},
) {
  const child = spawn(command, args, { detached: true, env: { ...process.env, ...env }, ...options })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  const kill = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It was faster.
    }
  }
  return { ended, kill, stdout: () => stdout, stderr: () => stderr }
}
