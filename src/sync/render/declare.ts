import type { DeclaredObject, RenderProblem } from '../declared.ts'
import { canonicalText, isObject, type Json, type JsonObject } from '../json.ts'
import { groupOf, keyText } from '../key.ts'
import { bodyOf } from './body.ts'
import type { Manifest } from './read-manifests.ts'
import type { RenderOptions } from './render.ts'

export interface Declared {
  readonly object?: DeclaredObject
  /** Its body as one canonical text. */
  readonly text?: string
  readonly problems: readonly RenderProblem[]
}

const partOf = 'applyset.kubernetes.io/part-of'
/** What the store of a cluster takes. */
const mostBytes = 1_572_864

/** One manifest, checked for all that can be said of it alone. */
export function declare(manifest: Manifest, options: RenderOptions): Declared {
  const { value, from } = manifest
  const problems: RenderProblem[] = []
  const say = (line: number, message: string) => problems.push({ path: from.path, line, message })
  const identity = identityOf(value, say, manifest)
  if (!identity) return { problems }
  const { apiVersion, kind, name, metadata } = identity
  checkMarks(metadata, say, manifest)
  const scope = options.scopeOf(apiVersion, kind)
  if (scope === undefined) {
    say(
      manifest.lineOf('kind'),
      `the server does not know ${kind} of ${apiVersion}; ` +
        'commit its CustomResourceDefinition too, install what brings it first, or write a version that the server has',
    )
    return { problems }
  }
  const group = groupOf(apiVersion)
  const namespace = scope === 'Cluster' ? '' : namespaceOf(metadata, `${kind} ${name}`, options, say, manifest)
  if (namespace === undefined) return { problems }
  const key = { group, kind, namespace, name }
  if (scope === 'Cluster' && !isAllowed(key, options))
    say(
      from.line,
      `${keyText(key)} belongs to the whole cluster, and this Sync may not write it; ` +
        `allow ${group === '' ? kind : `${kind}.${group}`}=${name} for it (--cluster-kind), or leave the object out`,
    )
  if (group === '' && kind === 'Secret') checkSecret(value, say, manifest)
  const body = bodyOf(value, key)
  const text = canonicalText(body)
  const bytes = Buffer.byteLength(text)
  if (bytes > mostBytes)
    say(from.line, `${keyText(key)} has ${bytes} bytes, and the server takes at most ${mostBytes}; make it smaller`)
  return problems.length > 0 ? { problems } : { object: { key, apiVersion, body, from }, text, problems }
}

type Say = (line: number, message: string) => void

interface Identity {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly metadata: JsonObject
}

function identityOf(value: JsonObject, say: Say, { from, lineOf }: Manifest): Identity | undefined {
  const { apiVersion, kind, metadata } = value
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    const missing = typeof apiVersion !== 'string' ? 'apiVersion' : 'kind'
    say(
      from.line,
      `${missing} is missing, or no text; write it, or name the file in .fettleignore if it is no manifest`,
    )
    return undefined
  }
  if (!/^(?:[a-z0-9][a-z0-9.-]*\/)?[a-z0-9]+$/.test(apiVersion) || !/^[A-Za-z][A-Za-z0-9]*$/.test(kind)) {
    say(
      lineOf('apiVersion'),
      'apiVersion or kind has characters that no server knows; write them as the server has them',
    )
    return undefined
  }
  if (!isObject(metadata)) {
    say(from.line, `the ${kind} has no metadata; write at least metadata.name`)
    return undefined
  }
  const { name, generateName } = metadata
  if (typeof name === 'string' && /^[^\s/%\\]{1,253}$/.test(name) && name !== '.' && name !== '..')
    return { apiVersion, kind, name, metadata }
  if (name !== undefined && name !== null && name !== '')
    say(lineOf('metadata', 'name'), `metadata.name of the ${kind} is no name; write a text without blanks, / and %`)
  else if (generateName !== undefined)
    say(
      lineOf('metadata', 'generateName'),
      `the ${kind} has generateName, which makes another object each time; write metadata.name instead`,
    )
  else say(lineOf('metadata'), `the ${kind} has no metadata.name; write one`)
  return undefined
}

function checkMarks(metadata: JsonObject, say: Say, { lineOf }: Manifest): void {
  for (const field of ['labels', 'annotations'] as const) {
    const marks = metadata[field]
    if (marks === undefined || marks === null) continue
    if (!isObject(marks)) {
      say(lineOf('metadata', field), `metadata.${field} is no mapping; write one line for each`)
      continue
    }
    for (const [name, text] of Object.entries(marks))
      if (typeof text !== 'string' && text !== null)
        say(
          lineOf('metadata', field, name),
          `metadata.${field}: ${name} is ${nameOf(text)}, not text; put it in quotes`,
        )
    if (field === 'labels' && partOf in marks)
      say(
        lineOf('metadata', field, partOf),
        `the label ${partOf} says whose an object is, and is written here; leave it out`,
      )
  }
}

function namespaceOf(
  metadata: JsonObject,
  object: string,
  { namespaces, namespaceRule }: RenderOptions,
  say: Say,
  { lineOf }: Manifest,
): string | undefined {
  const written = metadata['namespace'] ?? ''
  const [only, ...others] = namespaces
  const allowed = namespaces.join(', ')
  if (namespaceRule === 'force' || (namespaceRule === 'fill' && written === '')) {
    if (only !== undefined && others.length === 0) return only
    say(
      lineOf('metadata'),
      `nothing says which of the namespaces ${allowed} the ${object} goes to; write metadata.namespace`,
    )
    return undefined
  }
  if (typeof written === 'string' && namespaces.includes(written)) return written
  if (written === '') say(lineOf('metadata'), `the ${object} has no namespace; write metadata.namespace`)
  else
    say(
      lineOf('metadata', 'namespace'),
      `the ${object} is in ${placeText(written)} this Sync may not touch; it may touch ${allowed}: allow it, or move the object`,
    )
  return undefined
}

/** A name that is none could say anything. */
function placeText(namespace: Json): string {
  const isName = typeof namespace === 'string' && /^[a-z0-9-]{1,63}$/.test(namespace)
  return isName ? `namespace ${namespace}, which` : 'a namespace that'
}

function isAllowed(
  { group, kind, name }: { readonly group: string; readonly kind: string; readonly name: string },
  { namespaces, clusterKinds }: RenderOptions,
): boolean {
  if (group === '' && kind === 'Namespace' && namespaces.includes(name)) return true
  return clusterKinds.some((rule) => rule.kind === kind && rule.group === group && fits(rule.names, name))
}

/** With * for any characters. */
function fits(pattern: string, name: string): boolean {
  const expression = pattern.replace(/[\\^$.+?()[\]{}|]/g, '\\$&').replaceAll('*', '.*')
  return new RegExp(`^${expression}$`, 's').test(name)
}

/** Never with the value: what is wrong may be the secret. */
function checkSecret(value: JsonObject, say: Say, { lineOf }: Manifest): void {
  for (const field of ['data', 'stringData'] as const) {
    const entries = value[field]
    if (entries === undefined || entries === null) continue
    if (!isObject(entries)) say(lineOf(field), `${field} of the Secret is no mapping; write one line for each key`)
    else
      for (const [name, text] of Object.entries(entries))
        if (typeof text !== 'string' && text !== null)
          say(lineOf(field, name), `${field}: ${name} of the Secret is ${nameOf(text)}, not text; put it in quotes`)
  }
}

function nameOf(value: Json): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'boolean' ? 'true or false' : 'a number'
}
