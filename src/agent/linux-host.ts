import { watch } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hostPath, makePrivateFolder, readIfThere, removeDurably, seeFile, writeDurably } from '../host/index.ts'
import { hostScript } from '../host-script/index.ts'
import type { Clock } from '../time/index.ts'
import type { AgentHost } from './agent-host.ts'
import type { HostCommands } from './host-commands.ts'
import type { HostView, ScriptRequest } from './host-view.ts'
import { permissionText, readPermission } from './permission.ts'
import { RebootReasons } from './reboot-reasons.ts'
import { readScriptRequest } from './script-requests.ts'
import type { HostSettings } from './settings.ts'

const dayMs = 86_400_000

/** The machine that this process runs on, through the folders of it that the process can see. */
export class LinuxHost implements AgentHost {
  readonly #settings: HostSettings
  readonly #commands: HostCommands
  readonly #reasons: RebootReasons
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>

  constructor(settings: HostSettings, commands: HostCommands, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#settings = settings
    this.#commands = commands
    this.#reasons = new RebootReasons(settings, commands, clock)
    this.#clock = clock
  }

  async look(): Promise<HostView> {
    const { requestFile, mounts } = this.#settings
    const bootID = await this.#bootID()
    return {
      request: await seeFile(await hostPath(requestFile, mounts, { followsLast: true })),
      permission: await this.#permission(),
      reboot: await this.#reasons.look(bootID),
      bootID,
      ...(await this.#stored(bootID)),
    }
  }

  async writePermission(permission: Parameters<typeof permissionText>[0]): Promise<void> {
    await writeDurably(await this.#path(this.#settings.permissionFile), permissionText(permission))
  }

  async deletePermission(): Promise<void> {
    await removeDurably(await this.#path(this.#settings.permissionFile))
  }

  async storeHighestToken(token: number): Promise<void> {
    await makePrivateFolder(await this.#path(this.#settings.stateFolder))
    await writeDurably(await this.#state('highest-token'), `${token}\n`, 0o600)
  }

  async reboot(): Promise<void> {
    const { method, command, signal, delayMs } = this.#settings.reboot
    await makePrivateFolder(await this.#path(this.#settings.stateFolder))
    // Before the act: a machine that goes down at once still knows that it was told to.
    const told = [...(await this.#reboots()), { atMs: this.#clock.now(), bootID: await this.#bootID() }]
    await writeDurably(
      await this.#state('reboots'),
      told.map(({ atMs, bootID }) => `${atMs} ${bootID}\n`).join(''),
      0o600,
    )
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    if (method === 'signal') process.kill(1, signal)
    else if (method === 'command') {
      const { code, stderr } = await this.#commands.run(command)
      if (code !== 0) throw new Error(`\`${command}\` ended with exit code ${code}: ${stderr.trim().slice(0, 300)}`)
    } else throw new Error('this agent may not reboot its machine: --reboot-method is none')
  }

  /** Puts the helper for scripts where they find it, as it speaks of this machine's paths. */
  async installScript(): Promise<void> {
    const { requestFile, permissionFile, stateFolder } = this.#settings
    const places = { REQUEST_FILE: requestFile, PERMISSION_FILE: permissionFile, STATE_FOLDER: stateFolder }
    const defaults = Object.entries(places).map(([name, path]) => `: "\${FETTLE_${name}:=${path}}"\n`)
    const text = hostScript.replace('\n', `\n${defaults.join('')}`)
    // What is not there cannot be watched, and the first request of a script would wait for the next look.
    await makePrivateFolder(await this.#state('requests'))
    const place = await this.#state('host')
    if ((await readIfThere(place)) === text) return
    await writeDurably(place, text, 0o755)
  }

  /** Faster than the next look, never in place of it: a watch can miss what a look would see. */
  watch(onChange: () => void, signal: AbortSignal): void {
    const { requestFile, permissionFile, stateFolder, reboot } = this.#settings
    const folders = new Set(
      [requestFile, permissionFile, join(stateFolder, 'requests', 'any'), ...reboot.files].map((file) => dirname(file)),
    )
    for (const folder of folders)
      void hostPath(folder, this.#settings.mounts, { followsLast: true })
        .then((place) => watch(place, { signal, persistent: false }, onChange).on('error', () => undefined))
        .catch(() => undefined)
  }

  async #stored(
    bootID: string,
  ): Promise<
    Pick<HostView, 'scripts' | 'onlyScriptsAsk' | 'highestToken' | 'isToldToReboot' | 'rebootsLastDay' | 'stateProblem'>
  > {
    try {
      const reboots = await this.#reboots()
      return {
        scripts: await this.#scripts(),
        onlyScriptsAsk: await this.#onlyScriptsAsk(),
        highestToken: Number((await readIfThere(await this.#state('highest-token'))) ?? 0),
        isToldToReboot: reboots.some((reboot) => reboot.bootID === bootID),
        rebootsLastDay: reboots.length,
      }
    } catch (error) {
      const stateProblem = `${this.#settings.stateFolder} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`
      return {
        scripts: [],
        onlyScriptsAsk: false,
        highestToken: 0,
        isToldToReboot: false,
        rebootsLastDay: 0,
        stateProblem,
      }
    }
  }

  async #permission(): Promise<HostView['permission']> {
    const place = await this.#path(this.#settings.permissionFile)
    const seen = await seeFile(place)
    if (seen.is !== 'Present') return seen
    try {
      const content = readPermission(await readFile(place, 'utf8'))
      return { is: 'Present', ...(content ? { content } : {}) }
    } catch (error) {
      return { is: 'Unreadable', why: `${place} cannot be read: ${(error as NodeJS.ErrnoException).code}` }
    }
  }

  async #scripts(): Promise<ScriptRequest[]> {
    const folder = await this.#state('requests')
    const names: string[] = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const found: ScriptRequest[] = []
    for (const name of names.sort()) {
      const request = readScriptRequest(name, (await readIfThere(join(folder, name))) ?? '')
      if (request) found.push(request)
    }
    return found
  }

  /** Scripts that ask through the helper mark the file as theirs; whoever touches it later is somebody else. */
  async #onlyScriptsAsk(): Promise<boolean> {
    const marked = await modifiedMs(await this.#state('requests/.ours'))
    const asked = await modifiedMs(await this.#path(this.#settings.requestFile))
    return marked !== undefined && (asked === undefined || asked <= marked)
  }

  /** When it was told to reboot, and out of which boot. */
  async #reboots(): Promise<readonly { readonly atMs: number; readonly bootID: string }[]> {
    const text = (await readIfThere(await this.#state('reboots'))) ?? ''
    const told = text.split('\n').flatMap((line) => {
      const [, at, bootID] = /^(\d+) (\S+)$/.exec(line) ?? []
      return at !== undefined && bootID !== undefined ? [{ atMs: Number(at), bootID }] : []
    })
    // A clock that was set back must not make old reboots count for ever.
    return told.filter(({ atMs }) => Math.abs(this.#clock.now() - atMs) < dayMs)
  }

  async #bootID(): Promise<string> {
    return (await readFile(await this.#path(this.#settings.bootIdFile), 'utf8')).trim()
  }

  async #state(name: string): Promise<string> {
    return this.#path(join(this.#settings.stateFolder, name))
  }

  async #path(path: string): Promise<string> {
    return hostPath(path, this.#settings.mounts)
  }
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
