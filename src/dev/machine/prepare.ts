import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pauseImage } from './config.ts'
import { imageArchitecture, writeImageArchive } from './oci-image.ts'
import { ensureRootFilesystem } from './root-filesystem.ts'

/** Programs that appear inside each machine, and the one that its pods are made of. Paths on the host. */
export interface MachinePrograms {
  /** kubelet and kube-proxy */
  readonly node: string
  readonly containerd: string
  readonly containerdShim: string
  readonly ctr: string
  readonly pause: string
}

/** What all machines start from. */
export interface PreparedMachines {
  readonly rootFilesystem: string
  readonly pauseArchive: string
}

/** Fills the cache with everything that real nodes need beside their programs. */
export async function prepareRealNodes(options: {
  readonly cacheDir: string
  readonly programs: Pick<MachinePrograms, 'pause'>
  readonly log: (line: string) => void
  readonly signal?: AbortSignal
}): Promise<PreparedMachines> {
  const rootFilesystem = await ensureRootFilesystem(options.cacheDir, options.log, options.signal)
  return { rootFilesystem, pauseArchive: await ensurePauseArchive(options.cacheDir, options.programs.pause) }
}

async function ensurePauseArchive(cacheDir: string, program: string): Promise<string> {
  const content = await readFile(program)
  const hash = createHash('sha256').update(pauseImage).update(content).digest('hex').slice(0, 16)
  const path = join(cacheDir, 'machines', `pause-${hash}.tar`)
  if (existsSync(path)) return path
  await mkdir(join(cacheDir, 'machines'), { recursive: true })
  const part = `${path}.${process.pid}.part`
  await writeImageArchive(part, {
    name: pauseImage,
    architecture: imageArchitecture(),
    entries: [{ kind: 'file', path: 'pause', content, mode: 0o755 }],
    entrypoint: ['/pause'],
  })
  await rename(part, path)
  return path
}
