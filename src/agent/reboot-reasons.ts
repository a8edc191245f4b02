import { readdir } from 'node:fs/promises'
import { release } from 'node:os'
import { hostPath, readIfThere, seeFile } from '../host/index.ts'
import type { Clock } from '../time/index.ts'
import type { HostCommands } from './host-commands.ts'
import type { RebootReason } from './host-view.ts'
import { installedKernels, newerKernel } from './kernel-version.ts'
import type { HostSettings } from './settings.ts'

/** A command is not asked at every look; a need to reboot can wait a minute. */
const checkEveryMs = 60_000

/** Finds out whether the machine needs a reboot. The first that says yes is the reason; an error is never a yes. */
export class RebootReasons {
  readonly #settings: HostSettings
  readonly #commands: HostCommands
  readonly #clock: Pick<Clock, 'monotonic'>
  #checked: { readonly atMs: number; readonly answer: RebootReason } | undefined

  constructor(settings: HostSettings, commands: HostCommands, clock: Pick<Clock, 'monotonic'>) {
    this.#settings = settings
    this.#commands = commands
    this.#clock = clock
  }

  async look(bootID: string): Promise<RebootReason> {
    const { files, kernel } = this.#settings.reboot
    const answers: RebootReason[] = []
    for (const file of files) answers.push(await this.#fromFile(file))
    if (kernel) answers.push(await this.#fromKernel(bootID))
    if (answers.every(({ is }) => is !== 'Present')) answers.push(await this.#fromCheck(bootID))
    return (
      answers.find(({ is }) => is === 'Present') ?? answers.find(({ is }) => is === 'Unreadable') ?? { is: 'Absent' }
    )
  }

  async #fromFile(file: string): Promise<RebootReason> {
    const place = await hostPath(file, this.#settings.mounts, { followsLast: true })
    const seen = await seeFile(place)
    if (seen.is !== 'Present') return seen
    // Debian and Ubuntu write the packages that want the reboot beside the file.
    const packages = await readIfThere(`${place}.pkgs`).catch(() => undefined)
    const names = [...new Set(packages?.split('\n').filter(Boolean))].join(', ')
    return {
      is: 'Present',
      id: seen.id,
      key: file,
      reason: names ? `a reboot is required by ${names}` : `${file} is there`,
    }
  }

  async #fromKernel(bootID: string): Promise<RebootReason> {
    const folder = await hostPath('/boot', this.#settings.mounts)
    try {
      const newer = newerKernel(release(), installedKernels(await readdir(folder)))
      if (newer === undefined) return { is: 'Absent' }
      const reason = `kernel ${newer} is installed, and ${release()} runs`
      return { is: 'Present', id: `kernel ${newer} in ${bootID}`, key: 'kernel', reason }
    } catch (error) {
      return { is: 'Unreadable', why: `${folder} cannot be read: ${(error as NodeJS.ErrnoException).code}` }
    }
  }

  async #fromCheck(bootID: string): Promise<RebootReason> {
    const { check } = this.#settings.reboot
    if (!check) return { is: 'Absent' }
    const nowMs = this.#clock.monotonic()
    if (this.#checked && nowMs - this.#checked.atMs < checkEveryMs) return this.#checked.answer
    const answer = await this.#ask(check, bootID)
    this.#checked = { atMs: nowMs, answer }
    return answer
  }

  async #ask(
    { command, yes, no }: NonNullable<HostSettings['reboot']['check']>,
    bootID: string,
  ): Promise<RebootReason> {
    try {
      const { code } = await this.#commands.run(command)
      if (yes.includes(code))
        return { is: 'Present', id: `check in ${bootID}`, key: 'check', reason: `\`${command}\` says so`.slice(0, 256) }
      if (no.includes(code)) return { is: 'Absent' }
      return { is: 'Unreadable', why: `\`${command}\` ended with exit code ${code}, which means neither yes nor no` }
    } catch (error) {
      return {
        is: 'Unreadable',
        why: `\`${command}\` could not be run: ${error instanceof Error ? error.message : String(error)}`,
      }
    }
  }
}
