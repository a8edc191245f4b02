import type { DeclaredObject, RenderProblem } from '../declared.ts'
import { provenanceText } from '../declared.ts'
import { keyId, keyText } from '../key.ts'

/** What is wrong with objects only because of others. */
export function checkSet(objects: readonly DeclaredObject[]): readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  const byKey = new Map<string, DeclaredObject>()
  const byKind = new Map<string, DeclaredObject>()
  for (const object of objects) {
    const { key, from, apiVersion } = object
    const say = (message: string) => problems.push({ path: from.path, line: from.line, message })
    const twin = byKey.get(keyId(key))
    if (twin) say(`${keyText(key)} is declared at ${provenanceText(twin.from)} already; leave one of the two out`)
    else byKey.set(keyId(key), object)
    const kind = `${key.group} ${key.kind}`
    const other = byKind.get(kind)
    if (!other) byKind.set(kind, object)
    else if (other.apiVersion !== apiVersion)
      say(
        `${key.kind} is written as ${apiVersion} here and as ${other.apiVersion} at ${provenanceText(other.from)}; ` +
          'write all objects of a kind in one version',
      )
  }
  return problems
}
