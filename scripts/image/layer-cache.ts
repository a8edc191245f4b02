import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withFolderLock } from '../../src/dev/folder-lock.ts'
import { compressedLayer, type ImageLayer } from '../../src/dev/machine/oci-image.ts'
import type { TarEntry } from '../../src/dev/machine/tar.ts'

export type ImageArchitecture = 'amd64' | 'arm64'

export interface LayerOptions {
  readonly cacheDir: string
  readonly architecture: ImageArchitecture
  readonly log: (line: string) => void
  /** Makes the layer again, although the cache has one of its recipe. */
  readonly isFresh?: boolean
  readonly signal?: AbortSignal
}

/** Raised with the format of cached layers, so that old ones are not taken for new. */
const cacheFormat = 1

/**
 * Returns the layer that a recipe stands for. Fetching and compressing take a minute, and what the recipe says
 * changes a few times a year. `make` gets an empty folder that goes away afterwards.
 */
export async function cachedLayer(
  name: string,
  recipe: unknown,
  options: LayerOptions,
  make: (scratch: string) => Promise<readonly TarEntry[]>,
): Promise<ImageLayer> {
  const parent = join(options.cacheDir, 'images')
  const key = JSON.stringify([cacheFormat, recipe, options.architecture])
  const file = join(parent, `${name}-${createHash('sha256').update(key).digest('hex').slice(0, 16)}`)
  await mkdir(parent, { recursive: true })
  return withFolderLock(join(parent, `${name}.lock`), options.signal, async () => {
    const cached = options.isFresh ? undefined : await readLayer(file)
    if (cached) return cached
    const scratch = await mkdtemp(`${file}.part-`)
    try {
      const files = join(scratch, 'files')
      await mkdir(files)
      const layer = compressedLayer(await make(files))
      await writeFile(join(scratch, 'layer.tar.gz'), layer.content)
      await writeFile(join(scratch, 'diff-id'), layer.diffId)
      await rm(files, { recursive: true, force: true })
      await rm(file, { recursive: true, force: true })
      await rename(scratch, file)
      return layer
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  })
}

async function readLayer(folder: string): Promise<ImageLayer | undefined> {
  if (!existsSync(folder)) return undefined
  const [content, diffId] = await Promise.all([
    readFile(join(folder, 'layer.tar.gz')),
    readFile(join(folder, 'diff-id'), 'utf8'),
  ])
  return { content, diffId, isCompressed: true }
}
