import { labelTakersOf } from '../label-locks.ts'
import type { ConfigProblem, ProfilesConfig } from '../plugin.ts'
import { readInstances } from './read-instances.ts'
import { readProfiles } from './read-profiles.ts'
import { Reader, type Spot, unreadable } from './reader.ts'
import type { Registry } from './registry.ts'
import { type Environment, Variables } from './variables.ts'
import { readTree, type Tree } from './yaml-tree.ts'

export interface LoadOptions {
  /** What `${NAME}` stands for; it may hold secrets, which no problem shows. */
  readonly env: Environment
  readonly plugins: Registry
  /** Variables that are not set are warnings, and what they stand for is not looked at. There is no config then. */
  readonly allowsUnset?: boolean
}

export interface Loaded {
  /** Only when nothing is wrong. */
  readonly config: ProfilesConfig | undefined
  /** By line and column. */
  readonly problems: readonly ConfigProblem[]
  /** Of all profiles that could be made out, also in a file that is wrong. */
  readonly profileNames: readonly string[]
}

/** Reads a maintenance.yaml. All that is wrong is told at once; nothing that is in the text makes it throw. */
export function loadConfig(text: string, { env, plugins, allowsUnset = false }: LoadOptions): Loaded {
  const { root, problems } = readTree(text)
  if (problems.some(({ severity }) => severity === 'error'))
    return { config: undefined, problems: sorted(problems), profileNames: [] }
  const variables = new Variables(root, env)
  const reader = new Reader(variables, allowsUnset)
  for (const { severity, path, message, ...at } of [...problems, ...variables.problems()])
    if (severity === 'error') reader.error(at, path, message)
    else reader.warn(at, path, message)
  const config = readConfig(reader, root, plugins, variables.names())
  const isWrong = reader.problems.some(({ severity }) => severity === 'error') || reader.hasUnset
  return {
    config: isWrong ? undefined : config,
    problems: sorted(reader.problems),
    profileNames: [...(config?.profiles.keys() ?? [])],
  }
}

const topKeys = ['intervals', 'dashboard', 'instances', 'profiles']

function readConfig(
  reader: Reader,
  tree: Tree | undefined,
  plugins: Registry,
  variables: ReadonlySet<string>,
): ProfilesConfig | undefined {
  const nothing: Tree = { kind: 'map', at: { line: 1, column: 1 }, entries: new Map() }
  const isEmpty = tree === undefined || (tree.kind === 'scalar' && tree.value === null)
  const top = isEmpty ? nothing : tree
  if (top.kind !== 'map') {
    reader.error(
      top.at,
      '',
      `the file is a ${top.kind === 'list' ? 'list' : 'single value'}; write a mapping with ${topKeys.join(', ')}`,
    )
    return undefined
  }
  const root: Spot = { tree: top, at: top.at, path: '' }
  reader.known(root, topKeys, (key) => variables.has(key))
  const requeueMs = readRequeue(reader, root)
  const labelFilter = readLabelFilter(reader, root)
  const instances = readInstances(reader, root, plugins)
  const profiles = readProfiles(reader, root, instances)
  // A chain that could not be read uses nothing, and would put the blame on what it names.
  if (!reader.hasUnset && !reader.problems.some(({ severity }) => severity === 'error'))
    for (const table of Object.values(instances)) table.warnOfUnused(reader)
  return { requeueMs: requeueMs ?? 0, labelFilter, profiles, labelTakers: labelTakersOf(profiles.values()) }
}

function readRequeue(reader: Reader, root: Spot): number | undefined {
  const intervals = reader.map(root, 'intervals')
  if (intervals === unreadable) return undefined
  if (intervals) reader.known(intervals, ['requeue'])
  const ms = intervals && reader.at(intervals, 'requeue', 'duration')
  if (ms === unreadable) return undefined
  const at = intervals ? reader.placeOf(intervals, 'requeue') : reader.placeOf(root, 'intervals')
  if (ms === undefined || ms === 0)
    reader.error(
      at,
      'intervals.requeue',
      `it is ${ms === 0 ? 'zero' : 'missing'}; write how often each node is looked at, such as 1m`,
    )
  else if (ms < 0)
    reader.error(at, 'intervals.requeue', 'it is below zero; write how often each node is looked at, such as 1m')
  return ms
}

function readLabelFilter(reader: Reader, root: Spot): readonly string[] {
  const dashboard = reader.map(root, 'dashboard')
  if (dashboard === undefined || dashboard === unreadable) return []
  reader.known(dashboard, ['labelFilter'])
  const keys = reader.at(dashboard, 'labelFilter', 'texts')
  return keys === undefined || keys === unreadable ? [] : keys
}

function sorted(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}
