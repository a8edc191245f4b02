import type { DeclaredObject } from '../declared.ts'
import { type Key, keyId, keyText } from '../key.ts'
import { textsAt } from './pod-references.ts'

/** What is said of the order stands in manifests, and on the live objects that were made from them. */
export type Ordered = Pick<DeclaredObject, 'key' | 'body'>

/** What the repository says about the order of two objects. */
export interface ExplicitEdges {
  readonly after: ReadonlyMap<string, readonly string[]>
  /** Words about the order that cannot be followed. */
  readonly problems: readonly { readonly key: Key; readonly why: string }[]
}

const dependsOn = 'config.kubernetes.io/depends-on'
const waveAnnotations = ['fettle.dev/wave', 'argocd.argoproj.io/sync-wave']
const groupAnnotation = 'kapp.k14s.io/change-group'
const ruleAnnotation = 'kapp.k14s.io/change-rule'

/** Names in `after` are ids of keys, and of the points between two waves: without these, all would wait for all. */
export function explicitEdges(declared: readonly Ordered[]): ExplicitEdges {
  const after = new Map<string, string[]>()
  const problems: { key: Key; why: string }[] = []
  const ids = new Set(declared.map(({ key }) => keyId(key)))
  const add = (one: string, other: string) => push(after, one, other)

  const waves = new Map<number, string[]>()
  const members = new Map<string, string[]>()
  for (const { key, body } of declared) {
    const wave = waveOf(annotationsOf(body))
    if (wave === undefined) problems.push({ key, why: 'its wave is not a whole number: write for example "2"' })
    else push(waves, wave, keyId(key))
    for (const group of valuesOf(annotationsOf(body), groupAnnotation)) push(members, group, keyId(key))
  }

  for (const { key, body } of declared) {
    const annotations = annotationsOf(body)
    for (const text of (annotations[dependsOn] ?? '').split(',').map((part) => part.trim())) {
      if (text === '') continue
      const target = readReference(text)
      if (target === undefined)
        problems.push({
          key,
          why: `${dependsOn} is "${text}": write group/kind/name or group/namespaces/namespace/kind/name`,
        })
      else if (!ids.has(keyId(target)))
        problems.push({
          key,
          why: `it depends on ${keyText(target)}, which nothing declares: declare it, or take it out of ${dependsOn}`,
        })
      else add(keyId(key), keyId(target))
    }
    for (const text of valuesOf(annotations, ruleAnnotation)) {
      const rule = /^upsert (after|before) upserting (\S+)$/.exec(text)
      for (const other of rule?.[2] === undefined ? [] : (members.get(rule[2]) ?? [])) {
        if (other === keyId(key)) continue
        if (rule?.[1] === 'after') add(keyId(key), other)
        else add(other, keyId(key))
      }
    }
  }

  const steps = [...waves].sort(([one], [other]) => one - other)
  for (const [position, [wave, ids]] of steps.entries()) {
    const before = steps[position - 1]
    if (before === undefined) continue
    const point = waveId(wave)
    after.set(point, before[1])
    for (const id of ids) add(id, point)
  }
  return { after, problems }
}

function push<K>(lists: Map<K, string[]>, name: K, item: string): void {
  const list = lists.get(name)
  if (list) list.push(item)
  else lists.set(name, [item])
}

/** No id of a key begins like this: a group is in lower case, and a kind follows a space. */
function waveId(wave: number): string {
  return `wave:${wave}`
}

/** As cli-utils writes it: `apps/namespaces/shop/Deployment/web`, `/namespaces/shop/Service/web`, `group/Kind/name`. */
function readReference(text: string): Key | undefined {
  const parts = text.split('/')
  const [group = '', second = '', third = '', fourth = '', fifth = ''] = parts
  const isNamespaced = parts.length === 5 && second === 'namespaces'
  if (!isNamespaced && parts.length !== 3) return undefined
  const key = isNamespaced
    ? { group, kind: fourth, namespace: third, name: fifth }
    : { group, kind: second, namespace: '', name: third }
  return key.kind === '' || key.name === '' || (isNamespaced && key.namespace === '') ? undefined : key
}

/** In which wave the object comes; 0 if nothing is said, nothing if it cannot be read. */
export function waveOf(annotations: Readonly<Record<string, string>>): number | undefined {
  const text = waveAnnotations.flatMap((name) => annotations[name] ?? [])[0]
  if (text === undefined) return 0
  return /^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** kapp takes several of a sort: `change-rule`, `change-rule.database`. */
function valuesOf(annotations: Readonly<Record<string, string>>, name: string): string[] {
  return Object.entries(annotations).flatMap(([key, value]) =>
    key === name || key.startsWith(`${name}.`) ? [value.trim()] : [],
  )
}

export function annotationsOf(body: Ordered['body']): Readonly<Record<string, string>> {
  return textsAt(body, 'metadata', 'annotations')
}
