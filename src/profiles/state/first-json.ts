/** The first value in a text, whatever comes after it. Nothing that can be read: undefined. */
export function firstJson(text: string): unknown {
  const whole = parse(text)
  if (whole !== undefined) return whole
  const start = text.search(/\S/)
  const end = endOfValue(text, start)
  return end === undefined ? undefined : parse(text.slice(start, end))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Where an object or list that begins here ends. Other values stand for nothing useful, and are not cut out. */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0
  let isQuoted = false
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (isQuoted) {
      if (character === '\\') at++
      else if (character === '"') isQuoted = false
    } else if (character === '"') isQuoted = true
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth === 0 && !isQuoted) return at + 1
  }
  return undefined
}
