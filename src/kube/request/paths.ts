import { ApiError } from '../errors.ts'
import type { Resource } from '../resource.ts'

export interface Target {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/** The URL path of a collection, or of one object when a name is given. */
export function pathOf(resource: Resource, target: Target = {}): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const namespace =
    resource.namespaced && target.namespace !== undefined && target.namespace !== ''
      ? `/namespaces/${segment(target.namespace, resource, 'namespace')}`
      : ''
  const collection = `${root}${namespace}/${resource.plural}`
  if (target.name === undefined) return collection
  const subresource = target.subresource === undefined ? '' : `/${target.subresource}`
  return `${collection}/${segment(target.name, resource, 'name')}${subresource}`
}

/** The path of one object. Without a name the path would be the collection's, and a DELETE would empty it: refused. */
export function objectPath(resource: Resource, target: Target): string {
  const { name, namespace } = target
  if (name === undefined || name === '') throw badCall(resource, 'the object has no metadata.name')
  if (resource.namespaced && (namespace === undefined || namespace === '')) {
    throw badCall(resource, `${resource.kind} ${name} has no namespace, and ${resource.plural} live in namespaces`)
  }
  return pathOf(resource, target)
}

export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value))
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

const resourcePath = /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/[^/]+(?:\/([^/]+))?)?/

/** The resource of a path as a counter names it: few values, no object names. */
export function resourceLabel(path: string): string {
  if (/^\/api\/[^/]+\/namespaces(?:\/[^/]+)?$/.test(path)) return 'namespaces'
  const match = resourcePath.exec(path)
  if (match?.[1] === undefined) return 'other'
  return match[2] === undefined ? match[1] : `${match[1]}/${match[2]}`
}

function segment(value: string, resource: Resource, what: string): string {
  // "." and ".." survive encoding and would climb to another resource; "/" and "%" are never part of a valid name.
  if (value === '' || value === '.' || value === '..' || /[/%]/.test(value)) {
    throw badCall(resource, `"${value}" cannot be a ${what}`)
  }
  return encodeURIComponent(value)
}

function badCall(resource: Resource, seen: string): ApiError {
  return new ApiError({ code: 'BadCall', method: 'none', path: resource.plural, seen })
}
