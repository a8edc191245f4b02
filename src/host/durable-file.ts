import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Files that must be there after a power cut, whole, or not at all. A link in their place is refused: what is written
 * here as root must not land where somebody else points to.
 */
export async function writeDurably(path: string, text: string, mode = 0o644): Promise<void> {
  await refuseLink(path)
  // Not a name that anybody looks for, and always the same: what a crash leaves behind is overwritten next time.
  const part = join(dirname(path), `.${basename(path)}.part`)
  await rm(part, { force: true })
  try {
    const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants
    const file = await open(part, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode)
    try {
      await file.chmod(mode)
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined)
    throw error
  }
  await syncFolder(dirname(path))
}

export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** A folder that only root may enter. */
export async function makePrivateFolder(path: string): Promise<void> {
  await refuseLink(path)
  await mkdir(path, { recursive: true, mode: 0o700 })
}

async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found?.isSymbolicLink()) throw new Error(`${path} is a link; nothing is written through it`)
}

/** A name is as durable as the folder that it stands in. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
