import type { Guard } from '../kube/index.ts'
import { fitsPattern } from './observe/ignore-rules.ts'
import type { Policy } from './policy.ts'

type Allowed = Pick<Policy, 'namespaces' | 'clusterKinds'>

interface Target {
  readonly group: string
  readonly plural: string
  /** Empty for what belongs to the whole cluster. */
  readonly namespace: string
  /** Nothing for a collection. */
  readonly name?: string
}

const readings = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * The last door before the network: whatever the plan says, nothing is written outside of the namespaces of the Sync,
 * and of the whole cluster only the kinds and names that may be declared. What a path means is not guessed: only paths
 * of the form that the client makes go through, without subresources, and nothing that deletes a whole collection.
 */
export function fenceOf(allowed: Allowed): Guard {
  return (method, path) => {
    const verb = method.toUpperCase()
    if (readings.has(verb)) return undefined
    const target = targetOf(path)
    // Only POST leaves the name to the body; in the whole cluster that could be any.
    const isOne = target && (verb === 'POST' ? !target.name && target.namespace : target.name)
    return isOne
      ? whyRefused(target, allowed)
      : 'the Sync writes one object at a time, and this path is of something else'
  }
}

function whyRefused({ group, plural, namespace, name = '' }: Target, allowed: Allowed): string | undefined {
  const { namespaces, clusterKinds } = allowed
  if (namespace !== '')
    return namespaces.includes(namespace) ? undefined : `the Sync may not write in namespace ${namespace}`
  if (group === '' && plural === 'namespaces' && namespaces.includes(name)) return undefined
  const isAllowed = clusterKinds.some(
    (one) => one.group === group && pluralsOf(one.kind).includes(plural) && fitsPattern(name, one.names),
  )
  if (isAllowed) return undefined
  const what = group === '' ? plural : `${plural}.${group}`
  return `the Sync may not write ${what} ${name}, which is of the whole cluster; allow it with --cluster-kind`
}

/** The usual forms. To ask the server for the right one would leave it to the server what is open. */
function pluralsOf(kind: string): readonly string[] {
  const one = kind.toLowerCase()
  return [one, `${one}s`, `${one}es`, one.replace(/y$/, 'ies')]
}

const groupAndRest = /^\/(?:api|apis\/([a-z0-9][a-z0-9.-]*))\/[a-z0-9]+\/(.+)$/
/** They look like kinds in the namespace, and belong to the Namespace itself. */
const ofNamespaces = new Set(['status', 'finalize'])

/** Undefined for whatever is neither one object nor one collection. */
function targetOf(path: string): Target | undefined {
  const [, group = '', rest = ''] = groupAndRest.exec(path) ?? []
  const parts = rest.split('/').map(textOf)
  if (!parts.every((part) => part !== undefined)) return undefined
  const isInside = parts[0] === 'namespaces' && parts.length > 2
  const [plural = '', name, ...more] = isInside ? parts.slice(2) : parts
  if (more.length > 0 || !/^[a-z0-9][a-z0-9.-]*$/.test(plural) || (isInside && ofNamespaces.has(plural)))
    return undefined
  const namespace = isInside ? (parts[1] ?? '') : ''
  return { group, plural, namespace, ...(name === undefined ? {} : { name }) }
}

/** What a part of a path says. Undefined if the client would not have written it so: the server may read it otherwise. */
function textOf(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part)
    const isPlain = encodeURIComponent(text) === part && !/[/%]/.test(text) && !['', '.', '..'].includes(text)
    return isPlain ? text : undefined
  } catch {
    return undefined
  }
}
