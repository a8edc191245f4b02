/** Writes tar archives (ustar) whose bytes depend on nothing but the entries: no clock, no owner, no order of a disk. */
export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array; readonly mode?: number }
  | { readonly kind: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

const blockSize = 512

export function tarArchive(entries: readonly TarEntry[]): Buffer {
  const blocks: Uint8Array[] = []
  for (const entry of withParents(entries)) {
    blocks.push(header(entry))
    if (entry.kind !== 'file') continue
    const padding = (blockSize - (entry.content.length % blockSize)) % blockSize
    blocks.push(entry.content, Buffer.alloc(padding))
  }
  // Two empty blocks end an archive.
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockSize)])
}

/** Folders come before what is in them, else an unpacker makes them up with rights of its own. Sorted, no doubles. */
function withParents(entries: readonly TarEntry[]): TarEntry[] {
  const byPath = new Map<string, TarEntry>()
  for (const entry of entries) {
    const path = entry.path.replace(/^\/+|\/+$/g, '')
    const parts = path.split('/')
    for (let length = 1; length < parts.length; length++) {
      const folder = parts.slice(0, length).join('/')
      if (!byPath.has(folder)) byPath.set(folder, { kind: 'folder', path: folder })
    }
    byPath.set(path, { ...entry, path })
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(blockSize)
  const { name, prefix } = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path)
  const text = (value: string, offset: number) => block.write(value, offset)
  const octal = (value: number, offset: number, width: number) =>
    text(`${value.toString(8).padStart(width - 1, '0')}\0`, offset)
  text(name, 0)
  octal(modeOf(entry), 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(entry.kind === 'file' ? entry.content.length : 0, 124, 12)
  octal(0, 136, 12)
  text({ file: '0', link: '2', folder: '5' }[entry.kind], 156)
  if (entry.kind === 'link') text(fitting(entry.target, 100), 157)
  text('ustar\x0000', 257)
  text(prefix, 345)
  // The sum counts its own field as spaces.
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  text(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function modeOf(entry: TarEntry): number {
  if (entry.kind === 'link') return 0o777
  return entry.mode ?? (entry.kind === 'folder' ? 0o755 : 0o644)
}

/** A path over 100 bytes is cut at a slash into a name and a prefix of at most 155. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  for (let cut = path.indexOf('/'); cut > 0; cut = path.indexOf('/', cut + 1)) {
    const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)]
    if (name && Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { name, prefix }
  }
  throw new RangeError(`the path ${path} is too long for a tar archive`)
}

function fitting(value: string, width: number): string {
  if (Buffer.byteLength(value) > width) throw new RangeError(`the link target ${value} is longer than ${width} bytes`)
  return value
}
