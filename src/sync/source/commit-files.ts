import type { GitObject, ReadBudget } from './object-reader.ts'
import { SourceFault } from './source-fault.ts'
import { partsOfPath, readTree, type TreeEntry } from './tree.ts'

export interface SourceFile {
  /** From the top of the repository. */
  readonly path: string
  /** Id of the blob. */
  readonly blob: string
  readonly bytes: Buffer
}

export interface ContentLimits {
  /** Files and folders together. */
  readonly entries: number
  readonly bytesPerFile: number
  readonly bytes: number
}

export const contentLimits: ContentLimits = { entries: 20_000, bytesPerFile: 16 * 1024 * 1024, bytes: 64 * 1024 * 1024 }

export type ReadObject = (name: string, budget: ReadBudget) => Promise<GitObject | 'too large' | undefined>

const treeBudget = (): ReadBudget => ({ mostPerObject: 16 * 1024 * 1024, left: 64 * 1024 * 1024 })

/** The folder at a path of a commit; undefined when there is none. */
export async function findFolder(sha: string, path: string, read: ReadObject): Promise<TreeEntry | undefined> {
  const budget = treeBudget()
  const top = await read(`${sha}^{tree}`, budget)
  if (top === undefined)
    throw new SourceFault('RefGone', `Commit ${sha} is not in the repository any more. Fetch again.`)
  let here: TreeEntry = { is: 'folder', path: '', id: sizeOk(top, '').id }
  for (const part of partsOfPath(path)) {
    if (here.is === 'file') return undefined
    const wanted = here.path === '' ? part : `${here.path}/${part}`
    // Neighbours of the path are nobody's business: only the entry itself has to be sound.
    const next = entriesOf(await readFolder(here, budget, read), here.path, part).find((entry) => entry.path === wanted)
    if (!next) return undefined
    here = next
  }
  return here.is === 'folder' ? here : undefined
}

/** All files below a path, sorted. Either all of them, or a fault. */
export async function readFiles(
  sha: string,
  path: string,
  read: ReadObject,
  limits: ContentLimits = contentLimits,
): Promise<SourceFile[]> {
  const top = await findFolder(sha, path, read)
  if (!top)
    throw new SourceFault(
      'PathMissing',
      `There is no folder ${shownPath(path)} in commit ${sha.slice(0, 12)}. Correct the path.`,
      {
        path,
      },
    )
  const files = await listFiles(top, read, limits)
  const budget: ReadBudget = { mostPerObject: limits.bytesPerFile, left: limits.bytes }
  // A blob that lies at many paths is read once, and all of them share its bytes.
  const blobs = new Map<string, Promise<Buffer>>()
  const contents = files.map(({ id, path: filePath }) => {
    const blob = blobs.get(id) ?? read(id, budget).then((object) => sizeOk(object ?? missing(filePath), filePath).bytes)
    blobs.set(id, blob)
    return blob
  })
  const bytes = await Promise.all(contents)
  return files.map((file, index) => toSourceFile(file, bytes[index] ?? Buffer.alloc(0)))
}

/** Folder by folder, a level at a time: a few trees that hold each other many times over make millions of files. */
async function listFiles(top: TreeEntry, read: ReadObject, limits: ContentLimits): Promise<TreeEntry[]> {
  const budget = treeBudget()
  const trees = new Map<string, Promise<GitObject>>()
  const treeOf = (folder: TreeEntry) => {
    const tree = trees.get(folder.id) ?? readFolder(folder, budget, read)
    trees.set(folder.id, tree)
    return tree
  }
  const files: TreeEntry[] = []
  let count = 0
  for (let level = [top]; level.length > 0; ) {
    const objects = await Promise.all(level.map(treeOf))
    const folders: TreeEntry[] = []
    for (const [index, { path }] of level.entries()) {
      const entries = entriesOf(objects[index], path)
      count += entries.length
      if (count > limits.entries || path.length > 4_000)
        throw new SourceFault(
          'TooLarge',
          `Below ${shownPath(top.path)} are more than ${limits.entries} files, or folders too deep. Put the manifests into a folder of their own.`,
          { path: top.path },
        )
      for (const entry of entries) (entry.is === 'folder' ? folders : files).push(entry)
    }
    level = folders
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1))
}

async function readFolder(folder: TreeEntry, budget: ReadBudget, read: ReadObject): Promise<GitObject> {
  return sizeOk((await read(folder.id, budget)) ?? missing(folder.path), folder.path)
}

function entriesOf(tree: GitObject | undefined, path: string, only?: string): TreeEntry[] {
  return tree ? readTree(tree.bytes, tree.id.length / 2, path, only) : []
}

function missing(path: string): never {
  throw new SourceFault(
    'Damaged',
    `${shownPath(path)} is missing in the repository: it is damaged, or a partial clone. Fetch all of it, or use another copy.`,
    { path },
  )
}

function sizeOk(object: GitObject | 'too large', path: string): GitObject {
  if (object !== 'too large') return object
  throw new SourceFault(
    'TooLarge',
    `${shownPath(path)} is too large, or all files together are. Put the manifests into a folder of their own.`,
    { path },
  )
}

function shownPath(path: string): string {
  return path === '' ? '/' : path
}

const largeFilePointer = /^version https:\/\/(git-lfs\.github|hawser\.github)\.com\/spec\//

function toSourceFile({ path, id }: TreeEntry, bytes: Buffer): SourceFile {
  if (/\.(ya?ml|json)$/i.test(path) && largeFilePointer.test(bytes.toString('latin1', 0, 80)))
    throw new SourceFault(
      'LargeFilePointer',
      `${path} is only a pointer to a file in large file storage (LFS). Commit the manifest itself: git lfs untrack, then add it again.`,
      { path },
    )
  return { path, blob: id, bytes }
}
