import { defaultProfile, isState, profileSeparator, type State, states } from '../names.ts'
import type { CheckChain, Profile, ProfileState, Transition } from '../plugin.ts'
import { readChain, readCheck } from './read-chains.ts'
import type { Instances } from './read-instances.ts'
import { type Reader, type Spot, unreadable } from './reader.ts'
import { similar } from './similar.ts'

/** All profiles of the file. What is wrong is noted, and left out of them. */
export function readProfiles(reader: Reader, root: Spot, instances: Instances): ReadonlyMap<string, Profile> {
  const profiles = new Map<string, Profile>()
  const lines = new Map<string, number>()
  const list = reader.list(root, 'profiles')
  for (const [index, item] of (list === undefined || list === unreadable ? [] : reader.items(list)).entries()) {
    if (item === unreadable) continue
    if (item?.tree.kind !== 'map') {
      const at = item?.at ?? (typeof list === 'object' ? list.at : root.at)
      reader.error(at, `profiles[${index}]`, 'it is no profile; write at least name')
      continue
    }
    reader.known(item, ['name', ...states, 'abort'])
    const profile = {
      states: Object.fromEntries(states.map((state) => [state, readState(reader, item, state, instances)])) as Record<
        State,
        ProfileState
      >,
      abort: readChain(reader, item, 'abort', instances.trigger),
    }
    const name = readName(reader, item, lines)
    if (name !== undefined) profiles.set(name, { name, ...profile })
  }
  if (!profiles.has(defaultProfile)) profiles.set(defaultProfile, emptyProfile(defaultProfile))
  return profiles
}

function emptyProfile(name: string): Profile {
  const state: ProfileState = { enter: [], notify: [], transitions: [], deadlineMs: undefined, overdue: [] }
  return { name, states: { operational: state, 'maintenance-required': state, 'in-maintenance': state }, abort: [] }
}

function readName(reader: Reader, item: Spot, lines: Map<string, number>): string | undefined {
  const spot = reader.field(item, 'name')
  if (spot === unreadable) return undefined
  const path = `${item.path}.name`
  const read = spot && reader.value(spot, 'text')
  if (read === unreadable) return undefined
  if (!spot || !read || read.value === '') {
    reader.error(spot?.at ?? item.at, path, 'the profile has no name; write name')
    return undefined
  }
  const name = read.value
  const shown = read.isFromEnvironment ? 'the name' : name
  const line = lines.get(name)
  if (line !== undefined)
    reader.error(spot.at, path, `${shown} is taken on line ${line} already; write a name that no other profile has`)
  else if (name.includes(profileSeparator))
    reader.warn(
      spot.at,
      path,
      `no node can have ${shown}: ${profileSeparator} parts the names in the label; write a single dash`,
    )
  else if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(name))
    reader.warn(
      spot.at,
      path,
      `no node can have ${shown}: the value of a label is up to 63 letters, digits, . _ and -, with a letter or digit at both ends`,
    )
  if (line === undefined) lines.set(name, spot.at.line)
  return name
}

function readState(reader: Reader, profile: Spot, state: State, instances: Instances): ProfileState {
  const found = reader.map(profile, state)
  const from: Spot =
    found === undefined || found === unreadable
      ? { tree: { kind: 'map', at: profile.at, entries: new Map() }, at: profile.at, path: `${profile.path}.${state}` }
      : found
  reader.known(from, ['enter', 'notify', 'transitions', 'deadline', 'overdue'])
  return {
    enter: readChain(reader, from, 'enter', instances.trigger),
    notify: readChain(reader, from, 'notify', instances.notify),
    transitions: readTransitions(reader, from, state, instances),
    deadlineMs: readDeadline(reader, from),
    overdue: readChain(reader, from, 'overdue', instances.notify),
  }
}

function readDeadline(reader: Reader, state: Spot): number | undefined {
  const ms = reader.at(state, 'deadline', 'duration')
  const at = reader.placeOf(state, 'deadline')
  if (ms === undefined && reader.field(state, 'overdue') !== undefined)
    reader.warn(
      reader.placeOf(state, 'overdue'),
      `${state.path}.overdue`,
      'nobody is told without a deadline; write deadline',
    )
  if (typeof ms !== 'number') return undefined
  if (ms > 0) return ms
  reader.error(at, `${state.path}.deadline`, 'it is not above zero; write how long a node may stay, such as 4h')
  return undefined
}

function readTransitions(reader: Reader, state: Spot, own: State, instances: Instances): readonly Transition[] {
  const found = reader.field(state, 'transitions')
  if (found === undefined || found === unreadable) return []
  const isSingle = found.tree.kind === 'map' && found.tree.entries.size > 0
  if (isSingle)
    reader.warn(
      found.at,
      found.path,
      'it is a single transition without a dash, which the original drops; begin it with a dash',
    )
  const list = isSingle ? found : reader.list(state, 'transitions')
  if (list === undefined || list === unreadable) return []
  const items = isSingle ? [found] : reader.items(list)
  const read: ReadTransition[] = []
  for (const [index, item] of items.entries()) {
    if (item === unreadable) continue
    if (item?.tree.kind === 'map') read.push(readTransition(reader, item, own, instances))
    else reader.error(item?.at ?? list.at, `${list.path}[${index}]`, 'it is no transition; write check and next')
  }
  warnOfShadows(reader, read)
  return read.flatMap(({ next, check, trigger }) => (next && check ? [{ next, check, trigger }] : []))
}

interface ReadTransition {
  readonly spot: Spot
  readonly next: State | undefined
  readonly check: CheckChain | undefined
  readonly trigger: Transition['trigger']
}

function readTransition(reader: Reader, spot: Spot, own: State, instances: Instances): ReadTransition {
  reader.known(spot, ['check', 'next', 'trigger'])
  const next = readNext(reader, spot)
  if (next === own)
    reader.warn(
      reader.placeOf(spot, 'next'),
      `${spot.path}.next`,
      `the node is ${own} already, so that nothing happens; leave the transition out`,
    )
  return {
    spot,
    next,
    check: readCheck(reader, spot, instances.check),
    trigger: readChain(reader, spot, 'trigger', instances.trigger),
  }
}

function readNext(reader: Reader, transition: Spot): State | undefined {
  const spot = reader.field(transition, 'next')
  if (spot === unreadable) return undefined
  const path = `${transition.path}.next`
  const read = spot && reader.value(spot, 'text')
  if (read === unreadable) return undefined
  if (!spot || !read || read.value === '') {
    reader.error(
      spot?.at ?? transition.at,
      path,
      `the transition leads nowhere; write next with one of ${states.join(', ')}`,
    )
    return undefined
  }
  if (isState(read.value)) return read.value
  const meant = read.isFromEnvironment ? undefined : similar(read.value, states)
  const seen = read.isFromEnvironment ? 'what the environment gives is no state' : `there is no state ${read.value}`
  reader.error(
    spot.at,
    path,
    `${seen}; ${meant === undefined ? `write one of ${states.join(', ')}` : `did you mean ${meant}?`}`,
  )
  return undefined
}

/** Transitions are tried from the top; some never get their turn, and the original mixes up those with one target. */
function warnOfShadows(reader: Reader, transitions: readonly ReadTransition[]): void {
  for (const [index, { spot, next, check, trigger }] of transitions.entries()) {
    const above = transitions.slice(0, index)
    const same = above.find((other) => check !== undefined && other.check?.expression === check.expression)
    const target = above.find((other) => next !== undefined && other.next === next)
    if (same)
      reader.warn(
        reader.placeOf(spot, 'check'),
        `${spot.path}.check`,
        `the transition on line ${same.spot.at.line} has the same check and comes first, so that this one never gets its turn`,
      )
    else if (target && namesOf(target.trigger) !== namesOf(trigger))
      reader.warn(
        reader.placeOf(spot, 'trigger'),
        `${spot.path}.trigger`,
        `the original would carry out the triggers of line ${target.spot.at.line}, because that transition leads to ${next} too; Fettle carries out these`,
      )
  }
}

function namesOf(trigger: Transition['trigger']): string {
  return trigger.map(({ name }) => name).join(' && ')
}
