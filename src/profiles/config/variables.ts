import type { ConfigProblem } from '../plugin.ts'
import { coerce } from './coerce.ts'
import { expand, type Found, namesIn, type Piece, parseExpansion } from './expansion.ts'
import type { Tree, TreeScalar } from './yaml-tree.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What `${NAME}` stands for: a key at the top of the file, or else a variable of the environment. */
export class Variables {
  readonly #root: Tree | undefined
  readonly #env: Environment
  /** Keys that are just being put in: one that stands for itself means the environment. */
  readonly #active = new Set<string>()

  constructor(root: Tree | undefined, env: Environment) {
    this.#root = root
    this.#env = env
  }

  expand(scalar: TreeScalar): Tree | { readonly problem: string } {
    if (typeof scalar.value !== 'string' || !scalar.value.includes('$')) return scalar
    const pieces = parseExpansion(scalar.value)
    if (!pieces) return { problem: malformed }
    if (pieces.every((piece) => typeof piece === 'string')) return plainText(scalar, pieces.join(''))
    const whole = this.#wholeKey(pieces)
    if (whole) return 'problem' in whole ? whole : { ...whole, at: scalar.at }
    const result = expand(pieces, (name) => this.#find(name))
    if ('text' in result) {
      const { text, isFromEnvironment } = result
      return { kind: 'scalar', at: scalar.at, value: text, isExpanded: true, isFromEnvironment }
    }
    if ('refused' in result) return { problem: result.refused }
    const { unset = 'a variable of it' } = result
    return {
      problem: `${unset} is not set; set it in the environment, or write what counts then as in \${NAME:this}`,
    }
  }

  /** What is malformed is an error wherever it stands, also where nobody reads it. */
  problems(): readonly ConfigProblem[] {
    const problems: ConfigProblem[] = []
    const told = new Set<string>()
    for (const { scalar, path, pieces } of this.#written()) {
      const problem = (severity: ConfigProblem['severity'], message: string) =>
        void problems.push({ severity, ...scalar.at, path, message })
      if (!pieces) problem('error', malformed)
      for (const name of namesIn(pieces ?? [])) {
        if (told.has(name) || this.#key(name) === undefined || this.#environment(name) === undefined) continue
        told.add(name)
        problem(
          'warning',
          `\${${name}} means the key ${name} at the top of the file, and not the environment variable of that name; rename one of them`,
        )
      }
    }
    return problems
  }

  /** All names that are written out in the file. */
  names(): ReadonlySet<string> {
    return new Set([...this.#written()].flatMap(({ pieces }) => [...namesIn(pieces ?? [])]))
  }

  *#written(tree = this.#root, path = ''): Generator<Written> {
    if (tree?.kind === 'map')
      for (const [key, { value }] of tree.entries) yield* this.#written(value, path === '' ? key : `${path}.${key}`)
    else if (tree?.kind === 'list')
      for (const [index, item] of tree.items.entries()) yield* this.#written(item, `${path}[${index}]`)
    else if (typeof tree?.value === 'string' && tree.value.includes('$'))
      yield { scalar: tree, path, pieces: parseExpansion(tree.value) }
  }

  /** A value that is nothing but `${key}` is that key's value, whatever its type. */
  #wholeKey(pieces: readonly Piece[]): Tree | { readonly problem: string } | undefined {
    const [only, ...more] = pieces
    if (more.length > 0 || only === undefined || typeof only === 'string' || only.operator !== '') return undefined
    const [name, ...others] = only.name
    if (others.length > 0 || typeof name !== 'string') return undefined
    const tree = this.#key(name)
    return tree?.kind === 'scalar' ? this.#guarded(name, tree) : tree
  }

  #find(name: string): Found | undefined {
    const tree = this.#key(name)
    if (!tree) {
      const text = this.#environment(name)
      return text === undefined ? undefined : { text, isFromEnvironment: true }
    }
    const value = tree.kind === 'scalar' ? this.#guarded(name, tree) : tree
    if ('problem' in value || value.kind !== 'scalar') return undefined
    const text = coerce.text(value)
    return 'value' in text ? { text: text.value, isFromEnvironment: value.isFromEnvironment === true } : undefined
  }

  #key(name: string): Tree | undefined {
    if (this.#root?.kind !== 'map' || this.#active.has(name)) return undefined
    const tree = this.#root.entries.get(name)?.value
    return tree?.kind === 'scalar' && tree.value === null ? undefined : tree
  }

  /** Set to nothing is as good as not set. */
  #environment(name: string): string | undefined {
    return Object.hasOwn(this.#env, name) ? this.#env[name] || undefined : undefined
  }

  #guarded(name: string, scalar: TreeScalar): Tree | { readonly problem: string } {
    this.#active.add(name)
    try {
      return this.expand(scalar)
    } finally {
      this.#active.delete(name)
    }
  }
}

interface Written {
  readonly scalar: TreeScalar
  readonly path: string
  /** Nothing when it is malformed. */
  readonly pieces: readonly Piece[] | undefined
}

const malformed = `a \${ in it has no name or no }; write \${NAME}, or $\${ where the text itself is meant`

/** `$$` made it another text than the one in the file. */
function plainText(scalar: TreeScalar, value: string): TreeScalar {
  const { textAt: _, ...rest } = scalar
  return value === scalar.value ? scalar : { ...rest, value }
}
