import { type FSWatcher, watch } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SourceFault } from './source-fault.ts'

/** A repository on this machine. A linked work tree has its HEAD in a folder of its own. */
export interface LocalRepository {
  readonly gitDir: string
  /** Where branches and tags are. */
  readonly commonDir: string
}

/** Finds the repository in a folder, with a work tree or without one, and starts no process for it. */
export async function findRepository(path: string): Promise<LocalRepository> {
  const gitDir = (await gitDirIn(path)) ?? path
  const commonDir = resolve(gitDir, (await textOf(join(gitDir, 'commondir'))) ?? '.')
  const isOne = (await isThere(join(gitDir, 'HEAD'))) && (await isThere(join(commonDir, 'objects')))
  if (isOne) return { gitDir, commonDir }
  const what = (await isThere(path)) ? 'is no git repository' : 'is not there'
  throw new SourceFault('NotThere', `${path} ${what}. Name the folder that holds .git, or a bare repository.`)
}

async function gitDirIn(path: string): Promise<string | undefined> {
  const dotGit = join(path, '.git')
  const found = await lstat(dotGit).catch(() => undefined)
  if (!found?.isFile()) return found && dotGit
  const target = /^gitdir: (.+)$/m.exec((await textOf(dotGit)) ?? '')?.[1]
  return target && resolve(path, target)
}

async function textOf(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text?.trim()
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}

export interface RefWatch {
  /** Resolves at the first sign that the ref may have changed. */
  readonly touched: Promise<void>
  close(): void
}

/**
 * Watches the folders in which a ref can change. git renames a finished file into its place, so folders are watched, not
 * files. A ref in a folder that does not exist yet is noticed by the folder above.
 */
export async function watchRef({ gitDir, commonDir }: LocalRepository, ref: string): Promise<RefWatch> {
  const real = ref === 'HEAD' ? (/^ref: (\S+)$/.exec((await textOf(join(gitDir, 'HEAD'))) ?? '')?.[1] ?? ref) : ref
  const folders = new Set([gitDir, commonDir, join(commonDir, 'reftable')])
  for (let folder = dirname(real); folder !== '.'; folder = dirname(folder)) folders.add(join(commonDir, folder))
  const watchers: FSWatcher[] = []
  const touched = new Promise<void>((done) => {
    for (const folder of folders) {
      try {
        const watcher = watch(folder, (_event, name) => {
          // The top folder also holds what every command touches, such as the index.
          if (folder !== gitDir && folder !== commonDir) done()
          else if (name === null || ['HEAD', 'packed-refs', 'refs'].includes(name)) done()
        })
        // The folder went away: what was in it too.
        watcher.on('error', () => done())
        watchers.push(watcher)
      } catch {
        // Not there, or the machine has no watch left: whoever waits also looks from time to time.
      }
    }
  })
  return {
    touched,
    close: () => {
      for (const watcher of watchers) watcher.close()
    },
  }
}
