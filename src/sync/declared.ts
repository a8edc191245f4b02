import type { JsonObject } from './json.ts'
import type { Key } from './key.ts'

/** Where in the repository an object is declared: why it exists. */
export interface Provenance {
  readonly path: string
  /** Of the documents of the file, counted from 1. */
  readonly document: number
  readonly line: number
}

/** One object as git declares it, ready to be sent. */
export interface DeclaredObject {
  readonly key: Key
  readonly apiVersion: string
  /** With apiVersion, kind and namespace; without what only the server writes; a Secret's stringData is in its data. */
  readonly body: JsonObject
  readonly from: Provenance
}

/** All that a commit declares. There is no part of it: either all could be read, or nothing is known. */
export interface DeclaredSet {
  readonly objects: readonly DeclaredObject[]
  /** Over all keys and bodies, in an order that does not depend on files. */
  readonly digest: string
}

/** Why a commit cannot be read; each with its place and what to write instead. */
export interface RenderProblem {
  readonly path: string
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** `path:line: what to do`, as editors understand it. */
export function problemLine({ path, line, column, message }: RenderProblem): string {
  const place = [path, line, column].filter((part) => part !== undefined).join(':')
  return `${place}: ${message}`
}

export function provenanceText({ path, line }: Provenance): string {
  return `${path}:${line}`
}
