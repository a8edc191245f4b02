/** Whether a path, relative to where the patterns are, is to be left out. */
export type IsIgnored = (path: string) => boolean

/** One character of a name, or any number of them. */
type Sign = typeof many | ((character: string) => boolean)
/** One name of a path, or any number of them. */
type Segment = typeof many | readonly Sign[]

interface Pattern {
  readonly isNegated: boolean
  readonly onlyFolders: boolean
  readonly segments: readonly Segment[]
}

const many = 'many'

/** The patterns of a .gitignore: the last one that fits decides, and nothing comes back below a folder that is left out. */
export function ignorePatterns(lines: readonly string[]): IsIgnored {
  const patterns = lines.flatMap((line) => readPattern(line) ?? [])
  const isOut = (names: readonly string[], isFolder: boolean) => {
    const last = patterns.findLast(
      ({ onlyFolders, segments }) => (isFolder || !onlyFolders) && fits(segments, names, fitsName),
    )
    return last !== undefined && !last.isNegated
  }
  return (path) => {
    const names = path.split('/')
    return names.some((_, index) => isOut(names.slice(0, index + 1), index < names.length - 1))
  }
}

function readPattern(line: string): Pattern | undefined {
  // Blanks at the end count only behind a backslash.
  const written = line.replace(/\r$/, '').replace(/(?<!\\) +$/, '')
  if (written === '' || written.startsWith('#')) return undefined
  const isNegated = written.startsWith('!')
  const body = isNegated ? written.slice(1) : written
  const onlyFolders = body.endsWith('/')
  const bare = onlyFolders ? body.slice(0, -1) : body
  // A slash anywhere but at the end ties the pattern to the folder of the file.
  const names = bare.includes('/') ? bare.replace(/^\//, '').split('/') : ['**', bare]
  const segments = names.map((name) => (name === '**' ? many : signsOf(name)))
  // At the end it is all that is below, and not the folder itself.
  return { isNegated, onlyFolders, segments: names.at(-1) === '**' ? [...segments, [many]] : segments }
}

function signsOf(name: string): readonly Sign[] {
  const pieces = name.match(/\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|./gsu) ?? []
  return pieces.map((piece): Sign => {
    if (piece.startsWith('*')) return many
    if (piece === '?') return () => true
    if (piece.startsWith('[') && piece.length > 1) return classOf(piece)
    const literal = piece.startsWith('\\') && piece.length > 1 ? piece.slice(1) : piece
    return (character) => character === literal
  })
}

/** `[a-z_]`, and `[!a-z_]` for all others. */
function classOf(piece: string): Sign {
  const isOther = /^\[[!^]/.test(piece)
  const inside = piece.slice(isOther ? 2 : 1, -1)
  const ranges = [...inside.matchAll(/\\?(.)(?:-\\?(.))?/gsu)].map(([, low = '', high = low]) => [low, high] as const)
  return (character) => ranges.some(([low, high]) => low <= character && character <= high) !== isOther
}

function fitsName(segment: readonly Sign[], name: string): boolean {
  return fits(segment, Array.from(name), (isSign, character) => isSign(character))
}

/** Goes back to the last star only: the repository writes patterns and names, and must not make this take long. */
function fits<One, Item>(
  pattern: readonly (typeof many | One)[],
  items: readonly Item[],
  fitsOne: (one: One, item: Item) => boolean,
): boolean {
  let at = 0
  let star: { readonly behind: number; readonly from: number } | undefined
  for (let index = 0; index < items.length; ) {
    const one = pattern[at]
    if (one === many) {
      at += 1
      star = { behind: at, from: index }
    } else if (one !== undefined && fitsOne(one as One, items[index] as Item)) {
      at += 1
      index += 1
    } else if (star) {
      star = { behind: star.behind, from: star.from + 1 }
      at = star.behind
      index = star.from
    } else return false
  }
  return pattern.slice(at).every((one) => one === many)
}
