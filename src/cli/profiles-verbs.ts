import type { Command } from 'commander'
import { isNotFound, type KubeClient, type NodeObject, resources } from '../kube/index.ts'
import {
  abortAnnotation,
  abortReasonAnnotation,
  abortsOf,
  dataAnnotation,
  defaultProfile,
  pauseAnnotation,
  profileLabel,
  profileSeparator,
  progressAnnotation,
  readData,
  readProgress,
} from '../profiles/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { confirmByName } from './confirm.ts'
import { type CliContext, CliFault } from './context.ts'
import { addReasonOption, addYesOption } from './node-verb.ts'
import { userName } from './user-name.ts'

interface ReasonFlags extends ClusterFlags {
  readonly reason: string
}

interface AbortFlags extends ReasonFlags {
  readonly profile?: string
  readonly yes: boolean
}

/** `fettle profiles pause|resume|abort`: a person's word to the profiles of a node. */
export function addProfilesVerbCommands(profiles: Command, context: CliContext): void {
  addReasonOption(
    addClusterOptions(profiles.command('pause'))
      .description('nothing is decided about a node until it is resumed; it stays as it is')
      .argument('<node>'),
  ).action(async (name: string, flags: ReasonFlags) => {
    await withCluster(flags, async (client) => {
      const by = await userName(client)
      const reason = by === undefined ? flags.reason : `${flags.reason} (${by})`
      await annotate(client, await readNode(client, name), { [pauseAnnotation]: reason })
      context.out(`${name}: paused; \`fettle profiles resume ${name}\` lets its profiles go on\n`)
    })
  })

  addClusterOptions(profiles.command('resume'))
    .description('let the profiles of a paused node go on')
    .argument('<node>')
    .action(async (name: string, flags: ClusterFlags) => {
      await withCluster(flags, async (client) => {
        const node = await readNode(client, name)
        const isPaused = node.metadata.annotations?.[pauseAnnotation] !== undefined
        if (isPaused) await annotate(client, node, { [pauseAnnotation]: null })
        context.out(`${name}: ${isPaused ? 'its profiles go on' : 'was not paused'}\n`)
      })
    })

  addYesOption(
    addReasonOption(
      addClusterOptions(profiles.command('abort'))
        .description(
          'take a node back to operational; what its file names for that (abort) is run first; data that nobody can read begin anew',
        )
        .argument('<node>')
        .option('--profile <name>', 'only this one; else all that are not operational, or on their way'),
    ),
  ).action(async (name: string, flags: AbortFlags) => {
    await withCluster(flags, async (client) => {
      const node = await readNode(client, name)
      const { names, warning, fresh } = abortable(node, flags.profile)
      if (warning !== undefined) await confirmByName(context, { what: warning, name, isConfirmed: flags.yes })
      const before = abortsOf(node.metadata.annotations?.[abortAnnotation])
      const by = await userName(client)
      await annotate(client, node, {
        ...fresh,
        [abortAnnotation]: [...new Set([...before, ...names])].join(profileSeparator),
        [abortReasonAnnotation]: by === undefined ? flags.reason : `${flags.reason} (${by})`,
      })
      context.out(
        `${name}: ${names.join(', ')} will be operational again; \`fettle profiles explain ${name}\` tells when\n`,
      )
    })
  })
}

export interface Abort {
  readonly names: readonly string[]
  /** What a person has to confirm first. */
  readonly warning?: string
  /** What is written with it, so that profiles begin anew. */
  readonly fresh?: Readonly<Record<string, null>>
}

const nobodyChecks = 'It becomes operational: nobody checks whether work on it has ended, or whether it is well.'

/** Which profiles an abort is about, or a fault that says why there are none. */
export function abortable(node: NodeObject, profile: string | undefined): Abort {
  const { name = '', annotations } = node.metadata
  const read = readData(annotations?.[dataAnnotation])
  if ('problem' in read) return freshStart(node, profile, read.problem)
  const { profiles } = read.data
  if (profile !== undefined && !profiles.has(profile))
    throw new CliFault(`${name} has no profile ${profile}; it has: ${[...profiles.keys()].join(', ') || 'none'}`)
  const { inFlight } = readProgress(annotations?.[progressAnnotation])
  const meant = [...profiles].filter(([each, { current }]) =>
    profile === undefined ? current !== 'operational' || each in inFlight : each === profile,
  )
  if (meant.length === 0) throw new CliFault(`every profile of ${name} is operational; there is nothing to abort`)
  const isInMaintenance = meant.some(([, { current }]) => current === 'in-maintenance')
  return {
    names: meant.map(([each]) => each),
    ...(isInMaintenance ? { warning: `${name} is in maintenance. ${nobodyChecks}` } : {}),
  }
}

/** All of the data goes, because none of it can be told apart; who confirms has seen it, and can write it down. */
function freshStart({ metadata }: NodeObject, profile: string | undefined, problem: string): Abort {
  const { name = '', labels, annotations } = metadata
  if (profile !== undefined)
    throw new CliFault(
      `annotation ${dataAnnotation} of ${name} cannot be read: ${problem}; without --profile all of its profiles begin anew`,
    )
  const named = (labels?.[profileLabel] || defaultProfile).split(profileSeparator).filter((each) => each !== '')
  return {
    names: [...new Set(named)],
    warning: [
      `annotation ${dataAnnotation} of ${name} cannot be read: ${problem}. It is removed:`,
      annotations?.[dataAnnotation],
      nobodyChecks,
    ].join('\n'),
    fresh: { [dataAnnotation]: null, [progressAnnotation]: null },
  }
}

async function readNode(client: KubeClient, name: string): Promise<NodeObject> {
  return client.get<NodeObject>(resources.nodes, { name }).catch((error: unknown) => {
    if (isNotFound(error)) throw new CliFault(`there is no node ${name}; \`kubectl get nodes\` lists nodes`)
    throw error
  })
}

async function annotate(
  client: KubeClient,
  { metadata }: NodeObject,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const body = { metadata: { uid: metadata.uid, annotations } }
  await client.patch(
    resources.nodes,
    { name: metadata.name ?? '' },
    { type: 'merge', body },
    { fieldManager: 'fettle-cli' },
  )
}
