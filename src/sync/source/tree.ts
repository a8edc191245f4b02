import { isUtf8 } from 'node:buffer'
import { SourceFault } from './source-fault.ts'

export interface TreeEntry {
  readonly is: 'file' | 'folder'
  readonly path: string
  readonly id: string
}

/**
 * One folder as git stores it. Whatever a checkout could be fooled with is a fault, although nothing is checked out: a
 * person who does must see the same files. With `only`, nothing but the entry of that name is looked at.
 */
export function readTree(bytes: Buffer, idBytes: number, folder: string, only?: string): TreeEntry[] {
  const entries: TreeEntry[] = []
  const seen = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(0x20, at)
    const zero = bytes.indexOf(0, blank)
    if (blank < 0 || zero < 0 || zero + 1 + idBytes > bytes.length) throw torn(folder)
    const mode = bytes.toString('latin1', at, blank)
    at = zero + 1 + idBytes
    if (only !== undefined && bytes.toString('utf8', blank + 1, zero) !== only) continue
    const name = nameOf(bytes.subarray(blank + 1, zero), folder)
    const path = folder === '' ? name : `${folder}/${name}`
    const twin = seen.get(name.toLowerCase())
    if (twin !== undefined)
      throw new SourceFault(
        'HostileName',
        `${path} and ${twin} have one name where case does not count. Rename one of them.`,
        { path },
      )
    seen.set(name.toLowerCase(), path)
    entries.push({ is: kindOf(mode, path), path, id: bytes.toString('hex', zero + 1, at) })
  }
  return entries
}

function torn(folder: string): SourceFault {
  return new SourceFault(
    'Damaged',
    `The folder ${folder || '/'} of the repository is damaged. Look at it with git fsck.`,
    {
      path: folder,
    },
  )
}

function kindOf(mode: string, path: string): 'file' | 'folder' {
  switch (mode.replace(/^0+/, '')) {
    case '40000':
      return 'folder'
    case '100644':
    case '100755':
    case '100664':
      return 'file'
    case '120000':
      throw new SourceFault(
        'Symlink',
        `${path} is a symbolic link. Links are not followed: put the file itself there.`,
        {
          path,
        },
      )
    case '160000':
      throw new SourceFault(
        'Submodule',
        `${path} is a submodule, and what it holds is not read. Put its files into the repository, or use a path without it.`,
        { path },
      )
    default:
      throw new SourceFault('Damaged', `${path} is neither a file nor a folder (mode ${mode}).`, { path })
  }
}

function nameOf(bytes: Buffer, folder: string): string {
  const name = bytes.toString('utf8')
  const why = isUtf8(bytes) ? nameProblem(name) : 'is not UTF-8'
  if (why === undefined) return name
  const shown = JSON.stringify(folder === '' ? name : `${folder}/${name}`)
  throw new SourceFault('HostileName', `The name ${shown} ${why}. Rename it.`, { path: shown })
}

/** Why nothing may be called so; undefined for a good name. */
export function nameProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'means another folder'
  if (/[/\\]/.test(name)) return 'holds a separator of folders'
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) return 'holds a control character'
  if (/\p{Bidi_Control}/u.test(name)) return 'holds a character that turns the direction of reading'
  if (Buffer.byteLength(name) > 255) return 'is longer than 255 bytes'
  // Some file systems drop characters that cannot be seen, dots and blanks at the end, and shorten names to git~1.
  const bare = name.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  if (/^(\.git|git~1)[ .]*(:.*)?$/i.test(bare)) return "is kept for git's own folder"
  return undefined
}

/** The parts of a path below which files are read: `''`, `.`, `/apps/` and `./apps/web` are all fine. */
export function partsOfPath(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  for (const part of parts) {
    const why = nameProblem(part)
    if (why !== undefined)
      throw new SourceFault('Refused', `In the path ${JSON.stringify(path)}, ${JSON.stringify(part)} ${why}.`)
  }
  return parts
}
