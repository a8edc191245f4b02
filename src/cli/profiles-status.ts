import { type Command, Option } from 'commander'
import { type NodeObject, resources } from '../kube/index.ts'
import { dataAnnotation, pauseAnnotation, readData, states } from '../profiles/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'

export interface ProfileRow {
  readonly profile: string
  /** Names of nodes by the state that the profile is in on them. */
  readonly nodes: Readonly<Record<string, readonly string[]>>
}

export interface ProfilesStatus {
  readonly profiles: readonly ProfileRow[]
  readonly paused: readonly { readonly node: string; readonly reason: string }[]
  /** Nodes whose data nobody can read. */
  readonly unreadable: readonly string[]
}

/** `fettle profiles status`: how many nodes are where. */
export function addProfilesStatusCommand(profiles: Command, context: CliContext): void {
  addClusterOptions(profiles.command('status'))
    .description('nodes by profile and state, and those that are paused')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (flags: ClusterFlags & { readonly output: string }) => {
      const status = await withCluster(flags, async (client) =>
        profilesStatus(await listAll<NodeObject>(client, resources.nodes)),
      )
      context.out(flags.output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : profilesStatusText(status))
    })
}

export function profilesStatus(nodes: readonly NodeObject[]): ProfilesStatus {
  const byProfile = new Map<string, Record<string, string[]>>()
  const unreadable: string[] = []
  for (const { metadata } of nodes) {
    const { name = '' } = metadata
    const read = readData(metadata.annotations?.[dataAnnotation])
    if ('problem' in read) {
      unreadable.push(name)
      continue
    }
    for (const [profile, { current }] of read.data.profiles) {
      const row = byProfile.get(profile) ?? {}
      byProfile.set(profile, { ...row, [current]: [...(row[current] ?? []), name].sort() })
    }
  }
  return {
    profiles: [...byProfile].sort(([a], [b]) => (a < b ? -1 : 1)).map(([profile, row]) => ({ profile, nodes: row })),
    paused: nodes.flatMap(({ metadata }) => {
      const reason = metadata.annotations?.[pauseAnnotation]
      return reason === undefined ? [] : [{ node: metadata.name ?? '', reason }]
    }),
    unreadable: unreadable.sort(),
  }
}

const mostNames = 8

export function profilesStatusText({ profiles, paused, unreadable }: ProfilesStatus): string {
  const width = Math.max(7, ...profiles.map(({ profile }) => profile.length))
  const row = (cells: readonly string[]) => `${cells.map((cell, at) => cell.padEnd(at === 0 ? width : 20)).join('  ')}`
  return [
    ...(profiles.length === 0 ? ['no node has a profile'] : [row(['PROFILE', ...states]).trimEnd()]),
    ...profiles.flatMap(({ profile, nodes }) => [
      row([profile, ...states.map((state) => String(nodes[state]?.length ?? 0))]).trimEnd(),
      // Those that are in service are many, and nobody waits for them.
      ...states.slice(1).flatMap((state) => (nodes[state] ? [`  ${state}: ${namesText(nodes[state])}`] : [])),
    ]),
    ...paused.map(({ node, reason }) => `paused: ${node}: ${reason}`),
    ...unreadable.map(
      (node) => `needs a person: the data of ${node} cannot be read; \`fettle profiles explain ${node}\` tells why`,
    ),
    '',
  ].join('\n')
}

function namesText(names: readonly string[]): string {
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : ''
  return `${names.slice(0, mostNames).join(', ')}${more}`
}
