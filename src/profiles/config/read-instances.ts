import type { Check, Named, Notifier, NotifyInstance, Plugin, Schedule, Trigger } from '../plugin.ts'
import { readPlugin } from './read-plugin.ts'
import { type Reader, type Spot, unreadable } from './reader.ts'
import type { Registry } from './registry.ts'
import { similar } from './similar.ts'
import type { Place } from './yaml-tree.ts'

/** What chains may name. Each kind has names of its own. */
export interface Instances {
  readonly check: InstanceTable<Named<Check>>
  readonly trigger: InstanceTable<Named<Trigger>>
  readonly notify: InstanceTable<NotifyInstance>
}

interface Row<T> {
  readonly value: T | typeof unreadable
  readonly at: Place
  readonly path: string
  readonly isHidden: boolean
}

/** Instances of one kind by name; remembers which of them a chain uses. */
export class InstanceTable<T> {
  readonly kind: string
  readonly #rows = new Map<string, Row<T>>()
  readonly #used = new Set<string>()

  constructor(kind: string) {
    this.kind = kind
  }

  add(name: string, row: Row<T>): Row<T> | undefined {
    const before = this.#rows.get(name)
    if (!before) this.#rows.set(name, row)
    return before
  }

  find(name: string): T | undefined | typeof unreadable {
    this.#used.add(name)
    return this.#rows.get(name)?.value
  }

  /** Names that may be shown. */
  get names(): string[] {
    return [...this.#rows].flatMap(([name, { isHidden }]) => (isHidden ? [] : [name]))
  }

  warnOfUnused(reader: Reader): void {
    for (const [name, { at, path, isHidden }] of this.#rows)
      if (!this.#used.has(name))
        reader.warn(at, path, `no profile uses ${isHidden ? 'it' : name}; leave it out, or name it in a chain`)
  }
}

export function readInstances(reader: Reader, root: Spot, plugins: Registry): Instances {
  const found = reader.map(root, 'instances')
  const from = found === unreadable ? undefined : found
  if (from) reader.known(from, ['check', 'trigger', 'notify'])
  return {
    check: readKind(reader, from, 'check', plugins.check, (named) => named),
    trigger: readKind(reader, from, 'trigger', plugins.trigger, (named) => named),
    notify: readKind<Notifier, NotifyInstance>(reader, from, 'notify', plugins.notify, (named, item) => {
      const schedule = readSchedule(reader, item, plugins.schedule)
      return named === unreadable || schedule === unreadable ? unreadable : { ...named, schedule }
    }),
  }
}

function readKind<T, Row>(
  reader: Reader,
  from: Spot | undefined,
  kind: keyof Instances,
  plugins: readonly Plugin<T>[],
  complete: (named: Named<T> | typeof unreadable, item: Spot) => Row | typeof unreadable,
): InstanceTable<Row> {
  const table = new InstanceTable<Row>(kind)
  const list = from && reader.list(from, kind)
  if (list === undefined || list === unreadable) return table
  for (const [index, item] of reader.items(list).entries()) {
    if (item === unreadable) continue
    if (item?.tree.kind !== 'map') {
      reader.error(item?.at ?? list.at, `${list.path}[${index}]`, 'it is no instance; write type, name and config')
      continue
    }
    const keys = ['type', 'name', 'config', ...(kind === 'notify' ? ['schedule'] : [])]
    const oldStyle = reader.field(item, 'type') === undefined && plugins.find(({ type }) => isKey(item, type))
    if (!oldStyle) reader.known(item, keys)
    const plugin = readType(reader, item, plugins, oldStyle ? oldStyle.type : undefined)
    const made = plugin === unreadable ? unreadable : readPlugin(reader, plugin, item)
    const name = reader.at(item, 'name', 'text')
    const named =
      made === unreadable || plugin === unreadable || name === unreadable
        ? unreadable
        : { name: name ?? '', type: plugin.type, instance: made.instance }
    const value = complete(named, item)
    if (name !== unreadable) addRow(reader, table, item, name ?? '', value)
  }
  return table
}

function isKey(item: Spot, key: string): boolean {
  return item.tree.kind === 'map' && item.tree.entries.has(key)
}

function readType<T>(
  reader: Reader,
  item: Spot,
  plugins: readonly Plugin<T>[],
  oldStyle: string | undefined,
): Plugin<T> | typeof unreadable {
  const type = reader.field(item, 'type')
  if (type === unreadable) return unreadable
  const types = plugins.map((plugin) => plugin.type)
  const read = type && reader.value(type, 'text')
  if (read === unreadable) return unreadable
  const plugin = plugins.find((one) => one.type === read?.value)
  if (plugin) return plugin
  const at = type?.at ?? item.at
  const path = `${item.path}.type`
  if (oldStyle !== undefined)
    reader.error(at, path, `it has no type; write type: ${oldStyle} and put the rest under config`)
  else if (!read || read.value === '') reader.error(at, path, `it has no type; write one of ${types.join(', ')}`)
  else if (read.isFromEnvironment)
    reader.error(at, path, `there is no such type as the environment gives; write one of ${types.join(', ')}`)
  else {
    const meant = similar(read.value, types)
    const remedy = meant === undefined ? `write one of ${types.join(', ')}` : `did you mean ${meant}?`
    reader.error(at, path, `there is no type ${read.value}; ${remedy}`)
  }
  return unreadable
}

function readSchedule(reader: Reader, item: Spot, plugins: readonly Plugin<Schedule>[]): Schedule | typeof unreadable {
  const schedule = reader.map(item, 'schedule')
  if (schedule === unreadable) return unreadable
  const path = `${item.path}.schedule`
  if (schedule === undefined) {
    const types = plugins.map(({ type }) => type).join(', ')
    reader.error(
      reader.placeOf(item, 'schedule'),
      path,
      `it has no schedule; write schedule with a type of ${types}, and config`,
    )
    return unreadable
  }
  reader.known(schedule, ['type', 'config'])
  // Upper and lower case are one here, unlike with all other types.
  const type = reader.at(schedule, 'type', 'text')
  const folded = typeof type === 'string' ? plugins.find((one) => one.type === type.toLowerCase()) : undefined
  const plugin = folded ?? readType(reader, schedule, plugins, undefined)
  if (plugin === unreadable || type === unreadable) return unreadable
  if (reader.field(schedule, 'config') === undefined) {
    reader.error(
      reader.placeOf(schedule, 'config'),
      `${path}.config`,
      'the schedule has no config; write at least config: {}',
    )
    return unreadable
  }
  const made = readPlugin(reader, plugin, schedule)
  return made === unreadable ? unreadable : made.instance
}

function addRow<Row>(
  reader: Reader,
  table: InstanceTable<Row>,
  item: Spot,
  name: string,
  value: Row | typeof unreadable,
): void {
  const spot = reader.field(item, 'name')
  const at = spot === undefined || spot === unreadable ? item.at : spot.at
  const path = `${item.path}.name`
  if (name === '') {
    reader.warn(at, path, 'it has no name, so that no chain can use it; write name')
    return
  }
  const isHidden = typeof spot === 'object' && spot.tree.kind === 'scalar' && spot.tree.isFromEnvironment === true
  const before = table.add(name, { value, at, path, isHidden })
  const shown = isHidden ? 'the name' : name
  if (before)
    reader.error(
      at,
      path,
      `${shown} is taken on line ${before.at.line} already; write a name that no other ${table.kind} has`,
    )
  else warnOfName(reader, table.kind, name, shown, at, path)
}

function warnOfName(reader: Reader, kind: string, name: string, shown: string, at: Place, path: string): void {
  if (kind !== 'check') {
    if (name.trim() !== name || name.includes('&&') || name.includes('||'))
      reader.warn(at, path, `no chain can name ${shown}; write a name of letters, digits and _`)
  } else if (!/^[\p{L}\p{Nd}_][\p{L}\p{M}\p{Nd}_.-]*$/u.test(name))
    reader.warn(at, path, `no chain can name ${shown}; write a name of letters, digits and _`)
  else if (['true', 'false', 'null', 'date'].includes(name))
    reader.warn(
      at,
      path,
      `the original takes ${shown} for a word of its own and never asks the check; write another name`,
    )
  else if (!/^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name))
    reader.warn(
      at,
      path,
      `the original cannot read ${shown} in a chain; if you may go back to it, use letters, digits and _ only`,
    )
}
