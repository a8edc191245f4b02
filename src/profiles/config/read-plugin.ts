import type { ConfigOf, Field, Fields } from '../fields.ts'
import type { FieldProblem, Plugin } from '../plugin.ts'
import type { ValueOf } from './coerce.ts'
import { type Read, type Reader, type Spot, unreadable } from './reader.ts'
import type { Place } from './yaml-tree.ts'

/** The config of one plugin as its fields want it. */
interface ReadFields {
  readonly values: Readonly<Record<string, ValueOf<Field['kind']>>>
  /** Fields whose values may be secrets. */
  readonly hidden: ReadonlySet<string>
}

/** Makes an instance out of the mapping under `key`, or notes why not. */
export function readPlugin<T>(
  reader: Reader,
  plugin: Plugin<T>,
  owner: Spot,
  key = 'config',
): { readonly instance: T } | typeof unreadable {
  const needed = Object.keys(plugin.fields).filter((name) => plugin.fields[name]?.isRequired)
  const given = reader.map(owner, key)
  if (given === unreadable) return unreadable
  if (given === undefined && needed.length > 0) {
    const message = `${plugin.type} has no ${key}; write ${key} with ${needed.join(', ')}`
    reader.error(reader.placeOf(owner, key), `${owner.path}.${key}`, message)
    return unreadable
  }
  const nothing: Spot = {
    tree: { kind: 'map', at: owner.at, entries: new Map() },
    at: owner.at,
    path: `${owner.path}.${key}`,
  }
  const config = given ?? nothing
  const read = readFields(reader, plugin.fields, config)
  return read === unreadable ? unreadable : make(reader, plugin, config, read)
}

function readFields(reader: Reader, fields: Fields, config: Spot): ReadFields | typeof unreadable {
  reader.known(config, Object.keys(fields))
  const values: Record<string, ValueOf<Field['kind']>> = {}
  const hidden = new Set<string>()
  let isWhole = true
  for (const [name, field] of Object.entries(fields)) {
    const spot = reader.field(config, name)
    const read = spot === undefined || spot === unreadable ? spot : reader.value(spot, field.kind)
    if (read === unreadable) isWhole = false
    else if (isMissing(field, read?.value)) {
      const what = read === undefined ? 'it is missing' : 'it is empty or zero, which is as good as missing'
      reader.error(placeOf(spot, config), `${config.path}.${name}`, `${what}; write ${name}: ${field.about}`)
      isWhole = false
    } else {
      values[name] = read === undefined ? field.fallback : read.value
      if (read?.isFromEnvironment) hidden.add(name)
    }
  }
  return isWhole ? { values, hidden } : unreadable
}

/** A duration with its unit in the text is there even when it is 0s, as in the original. */
function isMissing({ isRequired, kind }: Field, value: ValueOf<Field['kind']> | undefined): boolean {
  if (!isRequired || kind === 'flag') return false
  if (value === undefined || kind === 'durationText') return value === undefined
  return typeof value === 'object' ? value.length === 0 : value === 0 || value === ''
}

function make<T>(
  reader: Reader,
  plugin: Plugin<T>,
  config: Spot,
  { values, hidden }: ReadFields,
): { readonly instance: T } | typeof unreadable {
  // Plugins quote what they read, and do not know where it comes from.
  const told = ({ field, message }: FieldProblem) => {
    const about = plugin.fields[field]?.about
    if (hidden.has(field)) return `what the environment gives does not fit; write ${field}: ${about ?? 'another value'}`
    return withoutSecrets(
      message,
      [...hidden].map((name) => values[name]),
    )
  }
  const typed = values as ConfigOf<Fields>
  try {
    for (const warning of plugin.warnings?.(typed) ?? [])
      reader.warn(
        placeOf(reader.field(config, warning.field), config),
        `${config.path}.${warning.field}`,
        told(warning),
      )
    const problems = plugin.problems?.(typed) ?? []
    for (const problem of problems)
      reader.error(
        placeOf(reader.field(config, problem.field), config),
        `${config.path}.${problem.field}`,
        told(problem),
      )
    return problems.length > 0 ? unreadable : { instance: plugin.create(typed) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const message = hidden.size > 0 ? `look at what the environment gives for ${[...hidden].join(', ')}` : why
    reader.error(config.at, config.path, `${plugin.type} cannot be made of it: ${message}`)
    return unreadable
  }
}

function placeOf(spot: Read<Spot>, around: Spot): Place {
  return spot === undefined || spot === unreadable ? around.at : spot.at
}

/** Of one or two letters nobody makes a secret, and without them no sentence would be left. */
const shortestSecret = 3

function withoutSecrets(message: string, secrets: readonly (ValueOf<Field['kind']> | undefined)[]): string {
  return secrets
    .flat()
    .map(String)
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length)
    .reduce((text, secret) => {
      const escaped = JSON.stringify(secret).slice(1, -1)
      return text.replaceAll(secret, '(from the environment)').replaceAll(escaped, '(from the environment)')
    }, message)
}
