import { lineFinder, readYaml, type YamlDocument } from '../../text/index.ts'
import type { Provenance, RenderProblem } from '../declared.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'

export interface ManifestFile {
  readonly path: string
  /** Its content by name: same blob, same documents. */
  readonly blob: string
  readonly bytes: Buffer
}

/** One object as it is written, and where. */
export interface Manifest {
  readonly value: JsonObject
  readonly from: Provenance
  /** The line of a field, for messages. */
  readonly lineOf: (...path: readonly string[]) => number
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[]
  readonly problems: readonly RenderProblem[]
}

const mostObjects = 20_000

export function readManifests(files: readonly ManifestFile[]): ReadManifests {
  const manifests: Manifest[] = []
  const problems: RenderProblem[] = []
  for (const file of files) {
    const read = readBlob(file.bytes)
    if ('problem' in read) {
      problems.push({ path: file.path, ...read.problem })
      continue
    }
    const reader = new FileReader(file, problems)
    for (const [index, document] of read.documents.entries()) manifests.push(...reader.objects(document, index + 1))
    const beyond = manifests[mostObjects]
    if (!beyond) continue
    const { path, line } = beyond.from
    const message = `there are more than ${mostObjects} objects up to here; split them over several paths`
    return { manifests: [], problems: [...problems, { path, line, message }] }
  }
  return { manifests, problems }
}

type ReadBlob = { readonly documents: readonly YamlDocument[] } | { readonly problem: Omit<RenderProblem, 'path'> }

// It would hide a byte order mark that stands twice.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const gitCrypt = Buffer.from('\0GITCRYPT\0')

/** Of the content alone, so that its answer can be kept by the id of the blob. */
function readBlob(bytes: Buffer): ReadBlob {
  if (bytes.subarray(0, gitCrypt.length).equals(gitCrypt))
    return {
      problem: {
        message: 'git-crypt has locked the file; it cannot be read here: commit it unlocked, or as a sealed object',
      },
    }
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { problem: { message: 'the file is not UTF-8; save it as UTF-8' } }
  }
  if (text.startsWith('version https://git-lfs.github.com/spec/'))
    return {
      problem: {
        message:
          'the file is a pointer to large-file storage, and what it points to is not here; commit the manifest itself',
      },
    }
  const read = readYaml(text)
  if (!('problem' in read)) return read
  if (!text.includes('{{')) return read
  const hint = 'there is {{ in the file: if it is a template, commit what it renders to, or name it in .fettleignore'
  return { problem: { ...read.problem, message: `${read.problem.message}; ${hint}` } }
}

/** Lists in lists are not bounded by anything else. */
const deepestList = 5

class FileReader {
  readonly #file: ManifestFile
  readonly #problems: RenderProblem[]
  #find: ReturnType<typeof lineFinder> | undefined

  constructor(file: ManifestFile, problems: RenderProblem[]) {
    this.#file = file
    this.#problems = problems
  }

  objects({ value, line }: YamlDocument, document: number): readonly Manifest[] {
    const lineOf = (path: readonly (string | number)[]) => {
      this.#find ??= lineFinder(this.#file.bytes.toString('utf8'))
      return this.#find(line, path)
    }
    return this.#flatten(value, [], { document, line, lineOf })
  }

  #flatten(value: Json, path: readonly (string | number)[], at: DocumentPlace): readonly Manifest[] {
    const line = path.length === 0 ? at.line : at.lineOf(path)
    const say = (message: string, where = line) => {
      this.#problems.push({ path: this.#file.path, line: where, message })
      return []
    }
    if (!isObject(value)) return say('here is no object; write one with apiVersion, kind and metadata')
    if ('sops' in value && isObject(value['sops']))
      return say(
        'the object is encrypted (it has a sops stanza), and nothing is decrypted here yet; commit a sealed object instead',
      )
    const { apiVersion, kind, items } = value
    if (typeof kind !== 'string' || !isList(value)) {
      const from = { path: this.#file.path, document: at.document, line }
      return [{ value, from, lineOf: (...fields) => at.lineOf([...path, ...fields]) }]
    }
    if (!Array.isArray(items ?? [])) return say('items of a list is no list; write one object behind each dash')
    if (path.length >= 2 * deepestList) return say('lists are in lists in lists; write the objects one after the other')
    // Items of a list of one kind need not say which.
    const implied = kind === 'List' ? {} : { apiVersion: apiVersion ?? null, kind: kind.slice(0, -'List'.length) }
    return ((items ?? []) as readonly Json[]).flatMap((item, index) =>
      this.#flatten(isObject(item) ? { ...implied, ...item } : item, [...path, 'items', index], at),
    )
  }
}

interface DocumentPlace {
  readonly document: number
  readonly line: number
  readonly lineOf: (path: readonly (string | number)[]) => number
}

/** As kubectl tells a list: by its items. One without any is known by its name. */
function isList({ apiVersion, kind, items }: JsonObject): boolean {
  if (kind === 'List' && apiVersion === 'v1') return true
  return typeof kind === 'string' && kind.length > 4 && kind.endsWith('List') && Array.isArray(items)
}
