import { firstJson } from './first-json.ts'
import { type GoTime, readGoTime, zeroTime } from './go-time.ts'

/** Where a profile stands on a node. States are texts: what is stored may be none of ours. */
export interface ProfileData {
  readonly transition: GoTime
  readonly current: string
  readonly previous: string
}

/** What the original keeps in its annotation. Nothing else may be in it: the original refuses what it does not know. */
export interface MaintenanceData {
  readonly profiles: ReadonlyMap<string, ProfileData>
  /** When each notification was sent last, by the name of its instance. */
  readonly notifications: ReadonlyMap<string, GoTime>
}

export type ReadData = { readonly data: MaintenanceData } | { readonly problem: string }

export const noData: MaintenanceData = { profiles: new Map(), notifications: new Map() }

/** As the original reads it, and the layout of its releases before the middle of 2023 as well. */
export function readData(text: string | undefined): ReadData {
  if (text === undefined || text.trim() === '') return { data: noData }
  try {
    const read = firstJson(text)
    if (read === undefined) return { problem: 'the data is no JSON' }
    if (read === null) return { data: noData }
    const fields = fieldsOf(read, 'the data')
    return {
      data: [...fields.keys()].some((name) => legacyFields.has(name)) ? readLegacy(fields) : readCurrent(fields),
    }
  } catch (error) {
    if (error instanceof Unreadable) return { problem: error.message }
    throw error
  }
}

/** Byte for byte what the original writes. */
export function writeData({ profiles, notifications }: MaintenanceData): string {
  const entries = sorted(profiles).map(
    ([name, { transition, current, previous }]) =>
      `${quote(name)}:{"Transition":${quote(transition.text)},"Current":${quote(current)},"Previous":${quote(previous)}}`,
  )
  const times = sorted(notifications).map(([name, { text }]) => `${quote(name)}:${quote(text)}`)
  return `{"Profiles":{${entries.join(',')}},"Notifications":{${times.join(',')}}}`
}

class Unreadable extends Error {}

const legacyFields = new Set(['lasttransition', 'lastnotificationtimes', 'profilestates', 'previousstates'])

function readCurrent(fields: Fields): MaintenanceData {
  only(fields, ['profiles', 'notifications'], 'the data')
  return {
    profiles: mapOf(fields.get('profiles'), 'Profiles', readProfile),
    notifications: times(fields, 'notifications'),
  }
}

function readProfile(value: unknown, path: string): ProfileData {
  const fields = fieldsOf(value, path)
  only(fields, ['transition', 'current', 'previous'], path)
  return {
    transition: fields.get('transition') == null ? zeroTime : timeOf(fields.get('transition'), `${path}.Transition`),
    current: textOf(fields.get('current'), `${path}.Current`),
    previous: textOf(fields.get('previous'), `${path}.Previous`),
  }
}

function readLegacy(fields: Fields): MaintenanceData {
  only(fields, [...legacyFields], 'the data')
  const at = fields.get('lasttransition')
  const transition = at == null ? zeroTime : timeOf(at, 'LastTransition')
  const previous = mapOf(fields.get('previousstates'), 'PreviousStates', textOf)
  const states = mapOf(fields.get('profilestates'), 'ProfileStates', textOf)
  return {
    profiles: new Map(
      [...states].map(([name, current]) => [name, { transition, current, previous: previous.get(name) ?? current }]),
    ),
    notifications: times(fields, 'lastnotificationtimes'),
  }
}

type Fields = ReadonlyMap<string, unknown>

/** Names of fields count whatever their case; names of profiles do not come here. */
function fieldsOf(value: unknown, path: string): Fields {
  return new Map(Object.entries(objectOf(value, path)).map(([name, field]) => [name.toLowerCase(), field]))
}

function objectOf(value: unknown, path: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new Unreadable(`${path} should be an object, and is ${JSON.stringify(value)}`)
}

function only(fields: Fields, known: readonly string[], path: string): void {
  const strange = [...fields.keys()].find((name) => !known.includes(name))
  if (strange !== undefined) throw new Unreadable(`${path} has a field ${JSON.stringify(strange)} that nobody knows`)
}

function mapOf<T>(value: unknown, path: string, read: (item: unknown, path: string) => T): ReadonlyMap<string, T> {
  if (value == null) return new Map()
  return new Map(
    Object.entries(objectOf(value, path)).flatMap(([name, item]): [string, T][] =>
      // An empty entry says nothing; the original fell over it.
      item === null ? [] : [[name, read(item, `${path}.${name}`)]],
    ),
  )
}

function times(fields: Fields, name: string): ReadonlyMap<string, GoTime> {
  return mapOf(fields.get(name), 'Notifications', timeOf)
}

function textOf(value: unknown, path: string): string {
  if (value == null) return ''
  if (typeof value === 'string') return value
  throw new Unreadable(`${path} should be a text, and is ${JSON.stringify(value)}`)
}

function timeOf(value: unknown, path: string): GoTime {
  const time = typeof value === 'string' ? readGoTime(value) : undefined
  if (time) return time
  throw new Unreadable(`${path} should be a time such as 2024-01-02T03:04:05Z, and is ${JSON.stringify(value)}`)
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
}

/** Go also escapes what could end a script in a page. */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
