import type { DeclaredSet, RenderProblem } from '../declared.ts'
import type { Policy } from '../policy.ts'
import { checkSet } from './check-set.ts'
import { chooseFiles } from './choose-files.ts'
import { declare } from './declare.ts'
import { digestOf } from './digest.ts'
import { type ManifestFile, readManifests } from './read-manifests.ts'
import { scopesOf } from './scopes.ts'

export interface RenderOptions {
  readonly namespaces: readonly string[]
  /** Of kinds that the server knows now; undefined: unknown kind. */
  scopeOf(apiVersion: string, kind: string): 'Namespaced' | 'Cluster' | undefined
  readonly clusterKinds: Policy['clusterKinds']
  /** What happens to objects of namespaces: filled in if missing, always set, or required. */
  readonly namespaceRule: 'fill' | 'force' | 'verify'
  /** As in a .gitignore, from flags. They count after those of the file. */
  readonly ignore: readonly string[]
  /** The folder below which the files are, if their paths do not begin there. */
  readonly root?: string
}

export type Rendered = { readonly set: DeclaredSet } | { readonly problems: readonly RenderProblem[] }

/** All that the files declare, or all that is wrong with them: there is nothing in between. */
export function render(files: readonly ManifestFile[], options: RenderOptions): Rendered {
  const chosen = chooseFiles(files, options)
  if (chosen.problems.length > 0) return { problems: chosen.problems }
  const read = readManifests(chosen.files)
  const answers = { ...options, scopeOf: scopesOf(read.manifests, options) }
  const declared = read.manifests.map((manifest) => declare(manifest, answers))
  const objects = declared.flatMap(({ object }) => object ?? [])
  const problems = [...read.problems, ...declared.flatMap(({ problems: found }) => found), ...checkSet(objects)]
  if (problems.length > 0) return { problems: problems.toSorted(byPlace) }
  return {
    set: {
      objects,
      digest: digestOf(declared.flatMap(({ object, text = '' }) => (object ? { key: object.key, text } : []))),
    },
  }
}

function byPlace(one: RenderProblem, other: RenderProblem): number {
  if (one.path !== other.path) return one.path < other.path ? -1 : 1
  return (one.line ?? 0) - (other.line ?? 0)
}
