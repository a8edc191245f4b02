import type { ObservedMeta } from '../observed.ts'

export const keepAnnotation = 'fettle.dev/keep'

interface KeepMark {
  readonly name: string
  readonly isKept: (value: string) => boolean
  readonly mayBeLabel?: true
}

const isWord = (word: string) => (value: string) => value.trim().toLowerCase() === word

/** How people say that an object stays, in our words and in those of other programs. */
const keepMarks: readonly KeepMark[] = [
  // The value may be the reason.
  { name: keepAnnotation, isKept: (value) => !isWord('false')(value) },
  { name: 'client.lifecycle.config.k8s.io/deletion', isKept: isWord('detach') },
  { name: 'cli-utils.sigs.k8s.io/on-remove', isKept: isWord('keep') },
  { name: 'kustomize.toolkit.fluxcd.io/prune', isKept: isWord('disabled'), mayBeLabel: true },
  { name: 'argocd.argoproj.io/sync-options', isKept: (value) => value.split(',').some(isWord('prune=false')) },
  { name: 'kapp.k14s.io/delete-strategy', isKept: isWord('orphan') },
  { name: 'helm.sh/resource-policy', isKept: isWord('keep') },
]

/** The mark that keeps an object, as `name: value`. */
export function keepMarkOf({ annotations, labels }: ObservedMeta): string | undefined {
  for (const { name, isKept, mayBeLabel } of keepMarks) {
    const value = annotations?.[name] ?? (mayBeLabel ? labels?.[name] : undefined)
    if (value !== undefined && isKept(value)) return `${name}: ${value}`
  }
  return undefined
}
