import { plainScalar } from './plain-scalar.ts'
import type { YamlMap, YamlValue } from './yaml-value.ts'

/**
 * A list or mapping in brackets that begins and ends on one line, with values that need no thought. Undefined: let the
 * full reader see.
 */
export function readFlowLine(text: string): YamlValue | undefined {
  const reader = new FlowReader(text)
  const value = reader.value(0)
  return value !== undefined && reader.isAtEnd() ? value : undefined
}

const deepestLine = 20
const quoted = /"((?:[^"\\]|\\["\\/bfnrt])*)"|'((?:[^']|'')*)'/y
const plain = /[\w./$][\w./$+=@-]*(?: [\w./$+=@-]+)*/y
const blanks = / */y
const comment = /(?: *| +#.*)$/y

class FlowReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    return this.#take(comment) !== undefined
  }

  value(depth: number): YamlValue | undefined {
    if (depth > deepestLine) return undefined
    if (this.#takeSign('[')) return this.#list(depth + 1)
    if (this.#takeSign('{')) return this.#map(depth + 1)
    const text = this.#quoted()
    if (text !== undefined) return text
    const word = this.#take(plain)
    if (word === undefined) return undefined
    const value = plainScalar(word)
    return typeof value === 'number' && !Number.isFinite(value) ? undefined : value
  }

  #list(depth: number): readonly YamlValue[] | undefined {
    const items: YamlValue[] = []
    if (this.#takeSign(']')) return items
    for (;;) {
      const item = this.value(depth)
      if (item === undefined) return undefined
      items.push(item)
      if (this.#takeSign(']')) return items
      if (!this.#takeSign(',')) return undefined
    }
  }

  #map(depth: number): YamlMap | undefined {
    const map: Record<string, YamlValue> = {}
    if (this.#takeSign('}')) return map
    for (;;) {
      this.#take(blanks)
      const name = this.#quoted() ?? this.#plainName()
      if (name === undefined || name === '__proto__' || Object.hasOwn(map, name)) return undefined
      if (this.#text[this.#at] !== ':' || this.#text[this.#at + 1] !== ' ') return undefined
      this.#at += 1
      const value = this.value(depth)
      if (value === undefined) return undefined
      map[name] = value
      if (this.#takeSign('}')) return map
      if (!this.#takeSign(',')) return undefined
    }
  }

  /** Words that mean something else than themselves are no names. */
  #plainName(): string | undefined {
    const word = this.#take(plain)
    return word !== undefined && plainScalar(word) === word ? word : undefined
  }

  #quoted(): string | undefined {
    const text = this.#take(quoted)
    if (text === undefined) return undefined
    return text.startsWith('"') ? (JSON.parse(text) as string) : text.slice(1, -1).replaceAll("''", "'")
  }

  /** With the blanks before it. */
  #takeSign(sign: string): boolean {
    this.#take(blanks)
    if (this.#text[this.#at] !== sign) return false
    this.#at += 1
    return true
  }

  #take(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at
    const [found] = expression.exec(this.#text) ?? []
    if (found !== undefined) this.#at += found.length
    return found
  }
}
