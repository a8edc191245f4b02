/** Text for other languages, escaped as Go does it. */

const html: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\0': '\uFFFD',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/["'&<>\p{Cc}]/gu, (one) => html[one] ?? one)
}

export function escapeJs(text: string): string {
  return text.replaceAll(/[\\'"<>&=\p{Cc}]|[^\x20-\x7f]/gu, (one) => {
    if ('\\\'"'.includes(one)) return `\\${one}`
    const code = one.codePointAt(0) ?? 0
    if (code === 0x7f || (code > 0x7f && isPrintable(one))) return one
    return `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

export function escapeUrl(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

const named: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

/** In quotes, as Go's source has it. */
export function quote(text: string, mark: '"' | "'" = '"'): string {
  const inside = Array.from(text, (one) => {
    if (one === mark) return `\\${mark}`
    const known = named[one]
    if (known !== undefined || isPrintable(one)) return known ?? one
    const code = one.codePointAt(0) ?? 0
    const digits = code.toString(16)
    if (code <= 0x7f) return `\\x${digits.padStart(2, '0')}`
    return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
  })
  return `${mark}${inside.join('')}${mark}`
}

function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}
