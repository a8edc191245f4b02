import { Cursor } from './cursor.ts'
import { TemplateFault } from './fault.ts'
import { PipeParser } from './parse-pipe.ts'
import type { Node, Template } from './tree.ts'

type Control = 'if' | 'with' | 'range'
/** What closed a list of nodes: `{{end}}`, or `{{else}}`, which may go on with another condition. */
type Closing = { readonly at: number } & ({ readonly word: 'end' } | { readonly word: 'else'; readonly next?: Control })

export function parse(source: string): Template {
  return new Parser(source).template(source)
}

class Parser {
  readonly #cursor: Cursor
  readonly #pipes: PipeParser
  readonly #parts = new Map<string, readonly Node[]>()
  readonly #calls: { readonly name: string; readonly at: number }[] = []
  #loops = 0

  constructor(source: string) {
    this.#cursor = new Cursor(source)
    this.#pipes = new PipeParser(this.#cursor)
  }

  template(source: string): Template {
    const { nodes, closing } = this.#list(true)
    if (closing)
      throw new TemplateFault(closing.at, `${closing.word} closes nothing; take it away, or open an if before it`)
    for (const { name, at } of this.#calls)
      if (!this.#parts.has(name))
        throw new TemplateFault(at, `there is no template '${name}'; write {{define "${name}"}} … {{end}}`)
    return { source, body: nodes, parts: this.#parts }
  }

  /** Until what closes it, which is nothing at the end of the text. */
  #list(isWhole = false): { readonly nodes: Node[]; readonly closing: Closing | undefined } {
    const nodes: Node[] = []
    for (;;) {
      const { type, text, at } = this.#cursor.take()
      if (type === 'end') return { nodes, closing: undefined }
      if (type === 'text') nodes.push({ kind: 'text', text, at })
      else {
        const closing = this.#closing()
        if (closing) return { nodes, closing }
        const node = this.#action(isWhole)
        if (node) nodes.push(node)
      }
    }
  }

  #closing(): Closing | undefined {
    const end = this.#cursor.takeWord('end')
    if (end) {
      this.#cursor.close('end')
      return { at: end.at, word: 'end' }
    }
    const otherwise = this.#cursor.takeWord('else')
    if (!otherwise) return undefined
    const next = this.#cursor.takeWord('if', 'with')
    if (next) return { at: next.at, word: 'else', next: next.text as Control }
    this.#cursor.close('else')
    return { at: otherwise.at, word: 'else' }
  }

  #action(isWhole: boolean): Node | undefined {
    const { type, text, at } = this.#cursor.skipSpace()
    switch (type === 'word' ? text : '') {
      case 'if':
      case 'with':
      case 'range':
        return this.#control(this.#cursor.take().text as Control, at)
      case 'break':
      case 'continue':
        this.#cursor.take()
        this.#cursor.close(text)
        if (this.#loops === 0) throw new TemplateFault(at, `${text} stands outside of a range; take it away`)
        return { kind: text as 'break' | 'continue', at }
      case 'define':
        if (!isWhole) throw new TemplateFault(at, 'define stands inside of something else; move it to the outside')
        this.#define(at)
        return undefined
      case 'block':
      case 'template':
        return this.#call(at)
      default:
        return { kind: 'show', pipe: this.#pipes.pipe('{{}}'), at }
    }
  }

  #control(kind: Control, at: number): Node {
    return this.#cursor.deeper(at, () =>
      this.#pipes.scoped(() => {
        const pipe = this.#pipes.pipe(kind)
        if (kind === 'range') this.#loops++
        const { nodes: body, closing } = this.#list()
        if (kind === 'range') this.#loops--
        return { kind, pipe, body, otherwise: this.#otherwise(kind, at, closing), at }
      }),
    )
  }

  #otherwise(kind: Control, at: number, closing: Closing | undefined): Node[] {
    if (!closing) throw open(kind, at)
    if (closing.word === 'end') return []
    const { next } = closing
    if (next && next === kind) return [this.#control(next, closing.at)]
    if (next) throw new TemplateFault(closing.at, `else ${next} does not fit ${kind}; write {{else}}{{${next} …}}`)
    const { nodes, closing: last } = this.#list()
    if (!last) throw open(kind, at)
    if (last.word === 'else') throw new TemplateFault(last.at, 'this is a second else; one stands before {{end}}')
    return nodes
  }

  #define(at: number): void {
    this.#cursor.take()
    const name = this.#name('define')
    this.#cursor.close(`define "${name}"`)
    this.#part(name, 'define', at)
  }

  #call(at: number): Node {
    const { text: word } = this.#cursor.take()
    const name = this.#name(word)
    const isBare = word === 'template' && this.#cursor.skipSpace().type === 'close'
    const pipe = isBare ? undefined : this.#pipes.pipe(word)
    if (isBare) this.#cursor.take()
    if (word === 'block') this.#part(name, word, at)
    this.#calls.push({ name, at })
    return { kind: 'template', name, pipe, at }
  }

  #name(of: string): string {
    const token = this.#cursor.skipSpace()
    if (token.type !== 'literal' || typeof token.value !== 'string')
      throw new TemplateFault(token.at, `${of} has no name; write it in quotes, as {{${of} "footer" .}}`)
    this.#cursor.take()
    return token.value
  }

  #part(name: string, word: string, at: number): void {
    const loops = this.#loops
    this.#loops = 0
    const { nodes, closing } = this.#cursor.deeper(at, () => this.#pipes.apart(() => this.#list()))
    this.#loops = loops
    if (closing?.word !== 'end') throw open(word, at)
    if (this.#parts.has(name)) throw new TemplateFault(at, `there are two templates '${name}'; give one another name`)
    this.#parts.set(name, nodes)
  }
}

function open(word: string, at: number): TemplateFault {
  return new TemplateFault(at, `this ${word} does not end; write {{end}} behind it`)
}
