import type { RenderProblem } from '../declared.ts'
import { ignorePatterns } from './ignore-patterns.ts'
import type { ManifestFile } from './read-manifests.ts'

export interface ChosenFiles {
  readonly files: readonly ManifestFile[]
  readonly problems: readonly RenderProblem[]
}

const ignoreFile = '.fettleignore'

/** Files that make a folder the input of another program. */
const markers: ReadonlyMap<string, string> = new Map([
  ['kustomization.yaml', 'kustomize build'],
  ['kustomization.yml', 'kustomize build'],
  ['Kustomization', 'kustomize build'],
  ['Chart.yaml', 'helm template'],
  ['helmfile.yaml', 'helmfile template'],
  ['helmfile.yaml.gotmpl', 'helmfile template'],
])

/**
 * The manifests among the files, by path: what ends in .yaml, .yml or .json, unless it, or a folder on the way to it,
 * begins with a dot or is named in .fettleignore.
 */
export function chooseFiles(
  files: readonly ManifestFile[],
  options: { readonly ignore: readonly string[]; readonly root?: string },
): ChosenFiles {
  const root = (options.root ?? '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')
  const below = (path: string) => (root !== '' && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path)
  const written = files.find(({ path }) => below(path) === ignoreFile)
  const isIgnored = ignorePatterns([...(written?.bytes.toString('utf8').split('\n') ?? []), ...options.ignore])
  const kept = files.filter(({ path }) => !/(?:^|\/)\./.test(below(path)) && !isIgnored(below(path)))
  const problems = kept.flatMap(({ path }) => markerProblem(path) ?? [])
  const manifests = kept.filter(({ path }) => /\.(?:ya?ml|json)$/.test(path))
  return { files: manifests.toSorted((one, other) => (one.path < other.path ? -1 : 1)), problems }
}

function markerProblem(path: string): RenderProblem | undefined {
  const program = markers.get(path.slice(path.lastIndexOf('/') + 1))
  if (program === undefined) return undefined
  return {
    path,
    message:
      `this folder is the input of another program, and only plain manifests are read yet; ` +
      `commit what \`${program}\` prints, or leave the file or its folder out: by --ignore-file, or in ${ignoreFile}`,
  }
}
