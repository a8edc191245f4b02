import { goFloat, goInteger } from './go-numbers.ts'
import type { ScalarValue } from './plain-scalar.ts'

const words: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...['t', 'T', 'true', 'True', 'TRUE', 'on', 'ON'].map((word) => [word, true] as const),
  ...['f', 'F', 'false', 'False', 'FALSE', 'off', 'OFF'].map((word) => [word, false] as const),
  ['null', null],
])

/** What an expanded text means where no text is wanted: commas make a list. Undefined when quotes or brackets stay open. */
export function retype(text: string): readonly ScalarValue[] | undefined {
  const inner = text.trim()
  const inBrackets = /^\[(.*)\]$/s.exec(inner)?.[1]
  if (inBrackets === undefined && inner.startsWith('[')) return undefined
  if (inBrackets?.trim() === '') return []
  const values: ScalarValue[] = []
  for (let rest = inBrackets ?? inner; ; ) {
    const [whole, quoted, plain = ''] =
      /^\s*(?:('[^']*'|"(?:[^"\\]|\\.)*")|([^,'"[][^,]*|))\s*(?=,|$)/s.exec(rest) ?? []
    if (whole === undefined) return undefined
    const value = quoted === undefined ? primitive(plain.trim()) : unquoted(quoted)
    if (value === undefined) return undefined
    const isEnd = rest.length === whole.length
    // Nothing before a comma is a slip; nothing behind the last one is an empty element.
    if (value === '' && quoted === undefined && !isEnd) return undefined
    values.push(value)
    if (isEnd) return values
    rest = rest.slice(whole.length + 1)
  }
}

/** The text in quotes that stand around all of it; undefined when there are none. */
export function unquoted(text: string): string | undefined {
  if (/^'[^']*'$/s.test(text)) return text.slice(1, -1)
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(text)) return undefined
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}

function primitive(text: string): ScalarValue {
  const word = words.get(text)
  return word !== undefined ? word : (goInteger(text) ?? goFloat(text) ?? text)
}
