import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runOk } from '../src/host/index.ts'

/** Where Prometheus is, or would be after `unpackPrometheus`. Nothing where it can neither be found nor fetched. */
export function prometheusProgram(cache: string): string | undefined {
  const installed = '/usr/bin/prometheus'
  if (existsSync(installed)) return installed
  return existsSync('/usr/bin/apt-get') ? join(cache, 'prometheus', installed) : undefined
}

/** Unpacks Debian's package into the cache. It is not installed: that would start a service on this machine. */
export async function unpackPrometheus(cache: string): Promise<void> {
  const program = prometheusProgram(cache)
  if (!program || existsSync(program)) return
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'prometheus-'))
  try {
    const download = () => runOk(['apt-get', 'download', '-qq', 'prometheus'], { cwd: folder, deadlineMs: 300_000 })
    // The list of packages is missing on a fresh machine. Only root may bring it.
    await download().catch(async () => {
      await runOk(['apt-get', 'update', '-qq'], { deadlineMs: 300_000 })
      await download()
    })
    const [name = ''] = readdirSync(folder)
    await runOk(['dpkg-deb', '-x', join(folder, name), join(folder, 'unpacked')], { deadlineMs: 120_000 })
    // In one step, so that whoever looks sees all of it or nothing.
    renameSync(join(folder, 'unpacked'), join(cache, 'prometheus'))
  } catch (error) {
    // Somebody else was faster.
    if (!existsSync(program)) throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
