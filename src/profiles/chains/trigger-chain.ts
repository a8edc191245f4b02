import type { ChainName, ChainProblem } from './check-chain.ts'

/** Names joined by &&, in the order in which they are carried out; an empty text has none. */
export function parseTriggerChain(text: string): readonly ChainName[] | ChainProblem {
  if (text === '') return []
  const names: ChainName[] = []
  let start = 0
  for (const part of text.split('&&')) {
    const name = part.trim()
    const offset = start + part.length - part.trimStart().length
    if (name === '') {
      const message =
        text.trim() === ''
          ? 'it holds nothing but blanks; leave it out, or write names joined by &&'
          : 'a name is missing before or behind &&; take the && out'
      return { offset: text.trim() === '' ? 0 : Math.min(start, text.length), message }
    }
    const or = part.indexOf('||')
    if (or >= 0)
      return { offset: start + or, message: 'all of a chain is carried out, so that || means nothing; write &&' }
    names.push({ name, offset })
    start += part.length + 2
  }
  return names
}

/** The original takes only blanks away around names, not line breaks and tabs. */
export function isReadByOriginal(text: string, names: readonly ChainName[]): boolean {
  return text === '' || text.split('&&').every((part, index) => part.replaceAll(/^ +| +$/g, '') === names[index]?.name)
}
