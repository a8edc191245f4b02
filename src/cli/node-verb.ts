import { type Command, InvalidArgumentError } from 'commander'
import {
  longestReason,
  type MaintenanceRequest,
  maintenanceRequests,
  type RequestVerb,
  requestVerbs,
  verbAnnotations,
} from '../api/index.ts'
import type { ConnectedClient } from '../kube/index.ts'
import { isOpen } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { confirmByName } from './confirm.ts'
import { type CliContext, CliFault } from './context.ts'
import {
  followRequest,
  type Journey,
  requestText,
  untilGranted,
  untilRebooted,
  untilReturned,
} from './follow-request.ts'
import { untilHeard } from './until-heard.ts'
import { userName } from './user-name.ts'

export interface VerbFlags extends ClusterFlags {
  readonly reason: string
  readonly yes: boolean
  readonly wait: boolean
}

const descriptions: Readonly<Record<RequestVerb, string>> = {
  retry: 'let a request that is held, or waits after a drain that took too long, try again',
  release: 'give a node back at once, without proof that it is well',
  skip: 'the same, and record that the work was skipped',
  abort: 'the same, and record that the work was aborted',
}

const outcomeOf = { release: 'Released', skip: 'Skipped', abort: 'Aborted' } as const

/** `fettle node retry|release|skip|abort`: a person decides what the queue does not decide alone. */
export function addVerbCommands(node: Command, context: CliContext): void {
  for (const verb of requestVerbs) {
    const command = addClusterOptions(node.command(verb))
      .description(descriptions[verb])
      .argument('<node-or-request>', 'a request, or a node of which only one comes into question')
    addReasonOption(command)
    if (verb !== 'retry') addYesOption(command)
    command.option('--no-wait', 'do not follow what happens').action(async (name: string, flags: VerbFlags) => {
      await withCluster(flags, async (client) => {
        const requests = await listAll<MaintenanceRequest>(client, maintenanceRequests).catch(notInstalled)
        const request = findRequest(requests, name, verb)
        if (verb !== 'retry')
          await confirmByName(context, {
            what: whatHappens(request, verb),
            name: request.spec.nodeName,
            isConfirmed: flags.yes,
          })
        await sayVerb(client, request, verb, flags, context)
      })
    })
  }
}

export function addReasonOption(command: Command): Command {
  return command.requiredOption('--reason <text>', 'why; recorded with your name', (text: string) => {
    if (text.trim() === '' || text.length > longestReason)
      throw new InvalidArgumentError(`Write a reason of at most ${longestReason} characters.`)
    return text
  })
}

export function addYesOption(command: Command): Command {
  return command.option('--yes', 'do not ask to type the name of the node', false)
}

/** The one request that is meant, or a fault that says what to name. */
export function findRequest(
  requests: readonly MaintenanceRequest[],
  name: string,
  verb: RequestVerb,
): MaintenanceRequest {
  const named = requests.find(({ metadata }) => metadata.name === name)
  if (named) {
    if (!isOpen(named))
      throw new CliFault(`${name} is over already: ${named.status?.outcome ?? 'Done'}; there is nothing to ${verb}`)
    if (verb === 'retry' && !mayRetry(named))
      throw new CliFault(`${requestText(named)}; only a request that is held, or waits after a drain, can be retried`)
    return named
  }
  const open = requests.filter((request) => isOpen(request) && request.spec.nodeName === name)
  const stopped = verb === 'retry' ? open.filter(mayRetry) : open.filter(isHeld)
  if (open.length === 0)
    throw new CliFault(
      `${name} is neither a request nor a node that anybody asks for; \`fettle queue\` shows who asks for what`,
    )
  if (verb === 'retry' && stopped.length === 0)
    throw new CliFault(`no request for ${name} is held; \`fettle explain ${name}\` tells where they are`)
  const meant = stopped.length > 0 ? stopped : open
  const [found, ...others] = meant
  if (!found || others.length > 0) throw new CliFault(severalText(name, meant))
  return found
}

function isHeld({ status }: MaintenanceRequest): boolean {
  return status?.phase === 'Held'
}

/** Also one that went back into the line because its drain took too long: its turn can begin earlier. */
function mayRetry(request: MaintenanceRequest): boolean {
  return isHeld(request) || (request.status?.phase === 'Queued' && request.status.requeue !== undefined)
}

function severalText(node: string, requests: readonly MaintenanceRequest[]): string {
  const lines = requests.map(({ metadata, spec, status }) => {
    return `  ${metadata.name}  ${status?.phase ?? 'New'}  [${spec.reason}]`
  })
  return [`${requests.length} requests for ${node} come into question; name one of them:`, ...lines].join('\n')
}

/** What a person should know before it cannot be taken back. */
export function whatHappens(request: MaintenanceRequest, verb: Exclude<RequestVerb, 'retry'>): string {
  const { nodeName, reason } = request.spec
  const { name } = request.metadata
  const phase = request.status?.phase ?? 'Queued'
  if (phase === 'Queued') return `${name} [${reason}] leaves the line; it ends as ${outcomeOf[verb]}.`
  return [
    `${name} [${reason}] is ${phase}. It ends as ${outcomeOf[verb]}, and ${nodeName} takes pods again:`,
    'nobody checks whether work on it has ended, or whether it is well.',
  ].join(' ')
}

/** Writes the verb, waits until the controller has heard it, and shows what comes of it. */
export async function sayVerb(
  client: ConnectedClient,
  request: MaintenanceRequest,
  verb: RequestVerb,
  { reason, wait, outcomes }: Pick<VerbFlags, 'reason' | 'wait'> & Partial<Pick<Journey, 'outcomes'>>,
  context: CliContext,
): Promise<void> {
  const { name = '', uid } = request.metadata
  const annotations = {
    [verbAnnotations.verb]: verb,
    [verbAnnotations.reason]: reason,
    [verbAnnotations.by]: (await userName(client)) ?? null,
  }
  const told = await client.patch<MaintenanceRequest>(
    maintenanceRequests,
    { name },
    { type: 'merge', body: { metadata: { uid, annotations } } },
    { fieldManager: 'fettle-cli', signal: context.signal },
  )
  if (!wait) {
    context.out(`${name}: ${verb} is asked for\n`)
    return
  }
  await untilHeard(client, told, isToldStill, context)
  const journey = journeyOf(request, verb)
  await followRequest(client, told, outcomes === undefined ? journey : { ...journey, outcomes }, context)
}

function isToldStill(request: MaintenanceRequest): boolean {
  return isOpen(request) && Boolean(request.metadata.annotations?.[verbAnnotations.verb])
}

/** How far it goes by itself: a retry until the work may begin, or, where the agent works, until it is over. */
export function journeyOf({ spec, status }: MaintenanceRequest, verb: RequestVerb): Journey {
  if (verb !== 'retry') return { goal: 'Done', outcomes: [outcomeOf[verb]] }
  if (spec.work === 'Reboot') return untilRebooted
  return status?.held?.from === 'Finishing' ? untilReturned : untilGranted
}
