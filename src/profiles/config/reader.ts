import type { FieldKind } from '../fields.ts'
import type { ConfigProblem } from '../plugin.ts'
import { coerce, seen, type ValueOf } from './coerce.ts'
import { similar } from './similar.ts'
import type { Variables } from './variables.ts'
import type { Place, Tree, TreeScalar } from './yaml-tree.ts'

/** A value of the file, with `${…}` put in, and how it is spoken of. */
export interface Spot {
  readonly tree: Tree
  readonly at: Place
  readonly path: string
}

/** Something is there that cannot be used; the problem is noted already. */
export const unreadable = Symbol('unreadable')
export type Read<T> = T | undefined | typeof unreadable

export interface ReadValue<T> {
  readonly value: T
  /** It may be a secret. */
  readonly isFromEnvironment: boolean
}

/** Reads values out of the tree of a file and notes what is wrong with them. */
export class Reader {
  readonly problems: ConfigProblem[] = []
  /** Something could not be known here, so that the file cannot be put in force. */
  hasUnset = false
  readonly #variables: Variables
  readonly #allowsUnset: boolean
  readonly #noted = new Set<string>()

  constructor(variables: Variables, allowsUnset: boolean) {
    this.#variables = variables
    this.#allowsUnset = allowsUnset
  }

  error(at: Place, path: string, message: string): void {
    this.#note({ severity: 'error', ...at, path, message })
  }

  warn(at: Place, path: string, message: string): void {
    this.#note({ severity: 'warning', ...at, path, message })
  }

  /** A value may be looked at more than once; it is wrong only once. */
  #note(problem: ConfigProblem): void {
    const key = JSON.stringify(problem)
    if (!this.#noted.has(key)) this.problems.push(problem)
    this.#noted.add(key)
  }

  /** Nothing when the key is absent or null. */
  field(from: Spot, key: string): Read<Spot> {
    if (from.tree.kind !== 'map') return undefined
    const entry = from.tree.entries.get(key)
    return entry && this.#spot(entry.value, from.path === '' ? key : `${from.path}.${key}`)
  }

  /** Where a key stands, or else what it should stand in. */
  placeOf(from: Spot, key: string): Place {
    return (from.tree.kind === 'map' ? from.tree.entries.get(key)?.at : undefined) ?? from.at
  }

  items(from: Spot): readonly Read<Spot>[] {
    if (from.tree.kind !== 'list') return []
    return from.tree.items.map((item, index) => this.#spot(item, `${from.path}[${index}]`))
  }

  value<K extends FieldKind>(spot: Spot, kind: K): ReadValue<ValueOf<K>> | typeof unreadable {
    const tree = kind === 'texts' ? this.#expandItems(spot) : spot.tree
    if (tree === undefined) return unreadable
    const read = coerce[kind](tree)
    if ('value' in read) return { value: read.value, isFromEnvironment: isFromEnvironment(tree) }
    this.error(spot.at, spot.path, read.problem)
    return unreadable
  }

  /** A field with one value of a kind. */
  at<K extends FieldKind>(from: Spot, key: string, kind: K): Read<ValueOf<K>> {
    const spot = this.field(from, key)
    if (spot === undefined || spot === unreadable) return spot
    const read = this.value(spot, kind)
    return read === unreadable ? read : read.value
  }

  /** A field that holds a mapping, or nothing. */
  map(from: Spot, key: string): Read<Spot> {
    return this.#shaped(this.field(from, key), 'map', 'write a mapping: lines of key: value')
  }

  /** A field that holds a list, or nothing. */
  list(from: Spot, key: string): Read<Spot> {
    return this.#shaped(this.field(from, key), 'list', 'write a list: begin each entry with a dash')
  }

  #shaped(spot: Read<Spot>, kind: Tree['kind'], remedy: string): Read<Spot> {
    if (spot === undefined || spot === unreadable || spot.tree.kind === kind) return spot
    if (this.#passesOver(spot)) return undefined
    this.error(spot.at, spot.path, `it is ${seen(spot.tree)}; ${remedy}`)
    return unreadable
  }

  /** Templates that have nothing to fill in leave `{}` or `[]` behind, and the original takes them for each other. */
  #passesOver({ tree, at, path }: Spot): boolean {
    if (tree.kind === 'scalar' || (tree.kind === 'map' ? tree.entries.size : tree.items.length) > 0) return false
    this.warn(at, path, `it is ${seen(tree)} that is empty, which means nothing here; leave it out`)
    return true
  }

  /** Warns of keys that nobody reads; they are allowed, because the original allows them. */
  known(from: Spot, keys: readonly string[], isRead: (key: string) => boolean = () => false): void {
    if (from.tree.kind !== 'map') return
    for (const [key, { at }] of from.tree.entries) {
      if (keys.includes(key) || isRead(key)) continue
      const meant = similar(key, keys)
      const remedy = meant === undefined ? 'leave it out' : `did you mean ${meant}?`
      this.warn(
        at,
        from.path === '' ? key : `${from.path}.${key}`,
        `there is no such key, and nothing reads it; ${remedy}`,
      )
    }
  }

  #spot(tree: Tree, path: string): Read<Spot> {
    if (tree.kind !== 'scalar') return { tree, at: tree.at, path }
    if (tree.value === null) return undefined
    const expanded = this.#expand(tree, path)
    if (expanded === undefined) return unreadable
    if (expanded.kind === 'scalar' && expanded.value === null) return undefined
    return { tree: expanded, at: tree.at, path }
  }

  #expandItems(spot: Spot): Tree | undefined {
    const { tree, path } = spot
    if (tree.kind === 'map' && this.#passesOver(spot)) return { kind: 'list', at: tree.at, items: [] }
    if (tree.kind !== 'list') return tree
    const items = tree.items.map((item, index) =>
      item.kind === 'scalar' ? this.#expand(item, `${path}[${index}]`) : item,
    )
    return items.includes(undefined) ? undefined : { ...tree, items: items.filter((item) => item !== undefined) }
  }

  #expand(scalar: TreeScalar, path: string): Tree | undefined {
    const expanded = this.#variables.expand(scalar)
    if (!('problem' in expanded)) return expanded
    if (this.#allowsUnset) {
      this.hasUnset = true
      this.warn(scalar.at, path, `it is not looked at: ${expanded.problem}`)
    } else this.error(scalar.at, path, expanded.problem)
    return undefined
  }
}

function isFromEnvironment(tree: Tree): boolean {
  if (tree.kind === 'scalar') return tree.isFromEnvironment === true
  return tree.kind === 'list' && tree.items.some(isFromEnvironment)
}
