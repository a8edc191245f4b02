import { ConfigError } from '../errors.ts'
import { isRecord } from '../request/status.ts'

/** One named entry of a kubeconfig, with the place it was written at. */
export interface Entry {
  readonly file: string
  /** As a person would say it: `user "admin"`. */
  readonly title: string
  readonly body: Readonly<Record<string, unknown>>
  /** The line of a key inside the body, or of the entry. */
  line(...keys: readonly string[]): number | undefined
}

export interface KubeconfigFile {
  readonly file: string
  readonly currentContext?: string
  readonly clusters: ReadonlyMap<string, Entry>
  readonly contexts: ReadonlyMap<string, Entry>
  readonly users: ReadonlyMap<string, Entry>
}

type LineOf = (path: readonly (string | number)[]) => number | undefined

/** Reads one kubeconfig. Messages never quote the text around a fault, because tokens live there. */
export async function parseKubeconfig(text: string, file: string): Promise<KubeconfigFile> {
  const { root, lineOf } = await parseYaml(text, file)
  if (root === null || root === undefined) {
    return { file, clusters: new Map(), contexts: new Map(), users: new Map() }
  }
  if (!isRecord(root))
    throw new ConfigError('BadConfig', `expected a mapping with clusters, contexts and users, saw ${typeName(root)}`, {
      file,
      line: 1,
    })
  const { kind, 'current-context': current } = root
  if (kind !== undefined && kind !== 'Config') {
    throw new ConfigError(
      'BadConfig',
      `expected kind: Config, saw kind: ${JSON.stringify(kind)}; this is not a kubeconfig`,
      place(file, lineOf(['kind'])),
    )
  }
  if (current !== undefined && current !== null && typeof current !== 'string') {
    throw new ConfigError(
      'BadConfig',
      `current-context is ${typeName(current)}; write the name in quotes`,
      place(file, lineOf(['current-context'])),
    )
  }
  return {
    file,
    ...(typeof current === 'string' && current !== '' ? { currentContext: current } : {}),
    clusters: readSection(root, 'clusters', 'cluster', file, lineOf),
    contexts: readSection(root, 'contexts', 'context', file, lineOf),
    users: readSection(root, 'users', 'user', file, lineOf),
  }
}

async function parseYaml(text: string, file: string): Promise<{ root: unknown; lineOf: LineOf }> {
  // Loaded only here: an agent inside a pod never reads a kubeconfig and should not pay for a YAML parser.
  const { LineCounter, isNode, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  // Pretty errors quote the source.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const first = document.errors[0]
  if (first) {
    const line = lines.linePos(first.pos[0]).line
    throw new ConfigError('BadConfig', `not valid YAML (${first.code}); correct this line or the one above`, {
      file,
      line,
    })
  }
  const lineOf: LineOf = (path) => {
    const node: unknown = document.getIn(path, true)
    return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined
  }
  return { root: document.toJS() as unknown, lineOf }
}

function readSection(
  root: Readonly<Record<string, unknown>>,
  section: 'clusters' | 'contexts' | 'users',
  key: 'cluster' | 'context' | 'user',
  file: string,
  lineOf: LineOf,
): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const list = root[section]
  if (list === undefined || list === null) return entries
  if (!Array.isArray(list)) {
    throw new ConfigError(
      'BadConfig',
      `${section} is ${typeName(list)}; write a list of {name, ${key}}`,
      place(file, lineOf([section])),
    )
  }
  for (const [index, item] of (list as unknown[]).entries()) {
    const at = place(file, lineOf([section, index]))
    if (!isRecord(item) || typeof item['name'] !== 'string') {
      throw new ConfigError('BadConfig', `${section}[${index}] has no name; write name: and ${key}:`, at)
    }
    const body = item[key] ?? {}
    const title = `${key} "${item['name']}"`
    if (!isRecord(body))
      throw new ConfigError('BadConfig', `${title} is ${typeName(body)}; write a mapping below ${key}:`, at)
    if (entries.has(item['name'])) continue
    entries.set(item['name'], {
      file,
      title,
      body,
      line: (...keys) => lineOf([section, index, key, ...keys]) ?? at.line,
    })
  }
  return entries
}

/** A field that must be a string if it is there. Empty counts as absent, as kubectl has it. */
export function readString(entry: Entry, key: string): string | undefined {
  const value = entry.body[key]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  throw entryError(entry, `${key} is ${typeName(value)}; write a string, in quotes if it looks like a number`, key)
}

export function readBoolean(entry: Entry, key: string): boolean {
  const value = entry.body[key]
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw entryError(entry, `${key} is ${typeName(value)}; write true or false`, key)
}

export function readStrings(entry: Entry, key: string): readonly string[] {
  const value = entry.body[key]
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[]
  throw entryError(entry, `${key} must be a list of strings`, key)
}

export function entryError(
  entry: Entry,
  message: string,
  key?: string,
  code: 'BadConfig' | 'UnsupportedConfig' = 'BadConfig',
): ConfigError {
  const line = key === undefined ? entry.line() : entry.line(key)
  return new ConfigError(code, `${entry.title}: ${message}`, place(entry.file, line))
}

export function place(file: string, line: number | undefined): { file: string; line?: number } {
  return line === undefined ? { file } : { file, line }
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'empty'
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}
