import { readBlocks } from './read-blocks.ts'
import { readFull } from './read-full.ts'
import type { YamlDocument, YamlProblem } from './yaml-value.ts'

export type ReadYaml = { readonly documents: readonly YamlDocument[] } | { readonly problem: YamlProblem }

/**
 * All documents of a YAML or JSON file, with the values that kubectl sees in them. Documents without content are left
 * out. What kubectl drops or renames in silence is a problem here.
 */
export function readYaml(text: string): ReadYaml {
  const lines = withPlainLines(text)
  const problem = unreadable(lines)
  if (problem) return { problem }
  const documents = readBlocks(lines)
  if (documents) return { documents }
  const misplaced = outsideDocuments(lines)
  return misplaced ? { problem: misplaced } : readFull(lines)
}

/** Line ends as on Unix, one at the end too: kubectl reads line by line. */
export function withPlainLines(text: string): string {
  const bare = (text.startsWith('\ufeff') ? text.slice(1) : text).replace(/\r\n?/g, '\n')
  const ended = bare.endsWith('\n') ? bare : `${bare}\n`
  // JSON may be indented with tabs, and has none anywhere else.
  return ended.includes('\t') && /^\s*[[{]/.test(ended) && isJson(ended) ? ended.replaceAll('\t', ' ') : ended
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Also the line ends of YAML 1.1 that no editor shows. */
const invisible = /[^\P{Cc}\t\n]|[\u2028\u2029\ufeff\ufffe\uffff]/u

function unreadable(text: string): YamlProblem | undefined {
  const at = text.search(invisible)
  if (at === -1) return undefined
  const code = `U+${text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}`
  const before = text.slice(0, at).split('\n')
  return {
    line: before.length,
    column: (before.at(-1) ?? '').length + 1,
    message: `the character ${code} may not stand here as it is; write it as an escape in double quotes, or leave it out`,
  }
}

/** kubectl splits a file into documents by lines, before it reads YAML: what it would drop is found here. */
function outsideDocuments(text: string): YamlProblem | undefined {
  let is: 'fresh' | 'within' | 'over' = 'fresh'
  for (const [index, line] of text.split('\n').entries()) {
    const say = (message: string) => ({ line: index + 1, column: 1, message })
    if (/^[ \t]*(?:#|$)/.test(line)) continue
    if (line.startsWith('---')) {
      if (!/^---(?:[ \t]*|[ \t]+#.*)$/.test(line))
        return say('something stands behind ---, where kubectl does not look; put it on the next line')
      is = 'fresh'
    } else if (/^\.\.\.(?:[ \t]|$)/.test(line)) {
      is = 'over'
    } else if (is === 'over') {
      return say('the document ended with ... above, and kubectl drops what follows; write --- before it')
    } else if (is === 'fresh') {
      if (line.startsWith('%')) return say('directives are not read here; leave the line out')
      is = 'within'
    }
  }
  return undefined
}
