import type { Command } from 'commander'
import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { isOpen } from '../queue/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { confirmByName } from './confirm.ts'
import { type CliContext, CliFault } from './context.ts'
import { followRequest, untilReturned } from './follow-request.ts'
import { askedBy } from './node-history.ts'
import { addYesOption } from './node-verb.ts'
import { userName } from './user-name.ts'

interface ReturnFlags extends ClusterFlags {
  readonly request?: string
  readonly yes: boolean
  readonly wait: boolean
}

/** `fettle node return NODE`: the caller's own work is over. */
export function addReturnCommand(node: Command, context: CliContext): void {
  const command = addClusterOptions(node.command('return'))
    .description('your work is done: the node gets back the state it had, once nobody else has it')
    .argument('<node>')
    .option('--request <name>', "this request instead of your own; you confirm it if it is somebody else's")
  addYesOption(command)
    .option('--no-wait', 'do not follow until the node is back')
    .action(async (name: string, flags: ReturnFlags) => {
      await withCluster(flags, async (client) => {
        const all = await listAll<MaintenanceRequest>(client, maintenanceRequests).catch(notInstalled)
        const caller = await userName(client)
        const { requests, remark, toConfirm } = whatToReturn(all, name, caller, flags.request)
        if (toConfirm !== undefined) await confirmByName(context, { what: toConfirm, name, isConfirmed: flags.yes })
        for (const request of requests) {
          const ref = { name: request.metadata.name ?? '' }
          const body = { metadata: { uid: request.metadata.uid }, spec: { want: 'Return' } }
          const returned = await client.patch<MaintenanceRequest>(
            maintenanceRequests,
            ref,
            { type: 'merge', body },
            { fieldManager: 'fettle-cli' },
          )
          if (flags.wait) await followRequest(client, returned, { ...untilReturned, remark }, context)
          else context.out(`${ref.name}: ${remark ?? `${name} goes back`}\n`)
        }
      })
    })
}

export interface Returning {
  readonly requests: readonly MaintenanceRequest[]
  /** What is said at the end instead of that the node is back: it is not, because others have it. */
  readonly remark?: string
  /** What a person should know first, because the request is not known to be theirs. */
  readonly toConfirm?: string
}

/** Which requests the caller may end without a word to anybody: those that the caller made. */
export function whatToReturn(
  all: readonly MaintenanceRequest[],
  node: string,
  caller: string | undefined,
  named?: string,
): Returning {
  const open = all.filter((request) => isOpen(request) && request.spec.nodeName === node)
  const ofPeople = open.filter(({ spec }) => spec.source.kind === 'Person')
  if (ofPeople.length === 0)
    throw new CliFault(`nobody has asked for ${node}, or it is back already; \`fettle queue\` shows who asks for what`)
  const isMine = ({ spec }: MaintenanceRequest) => caller !== undefined && spec.requestedBy === caller
  const requests =
    named === undefined ? ownOf(ofPeople, isMine) : ofPeople.filter(({ metadata }) => metadata.name === named)
  if (requests.length === 0) throw new CliFault(refusal(ofPeople, node, named))
  const keepers = open.filter((request) => !requests.includes(request) && isOut(request))
  const toConfirm = named === undefined ? undefined : requests.find((request) => !isMine(request))
  return {
    requests,
    ...(keepers.length > 0 ? { remark: remarkOn(node, keepers) } : {}),
    ...(toConfirm ? { toConfirm: whatHappens(toConfirm) } : {}),
  }
}

/** Where the cluster did not tell who asked, a lonely request has no other owner to be mistaken for. */
function ownOf(
  ofPeople: readonly MaintenanceRequest[],
  isMine: (request: MaintenanceRequest) => boolean,
): readonly MaintenanceRequest[] {
  const mine = ofPeople.filter(isMine)
  const isLonely = ofPeople.length === 1 && ofPeople[0]?.spec.requestedBy === undefined
  return mine.length === 0 && isLonely ? ofPeople : mine
}

/** Has the node, and does not give it back already. */
function isOut({ spec, status }: MaintenanceRequest): boolean {
  return spec.want === 'Out' && status?.slot !== undefined && status.phase !== 'Finishing'
}

function refusal(ofPeople: readonly MaintenanceRequest[], node: string, named: string | undefined): string {
  const why =
    named === undefined
      ? `what people have asked for on ${node} is not known to be yours; to end one all the same, name it:`
      : `${named} is no open request of a person for ${node}; these are:`
  const lines = ofPeople.map(
    (request) => `  fettle node return ${node} --request ${request.metadata.name}  # ${ownerText(request)}`,
  )
  return [why, ...lines].join('\n')
}

function remarkOn(node: string, keepers: readonly MaintenanceRequest[]): string {
  return `${node} stays out of service: ${keepers.map((one) => `${ownerText(one)} (${one.metadata.name})`).join(', ')}`
}

function ownerText(request: MaintenanceRequest): string {
  return `${askedBy(request)}, ${request.status?.phase ?? 'New'} [${request.spec.reason}]`
}

function whatHappens(request: MaintenanceRequest): string {
  const { name } = request.metadata
  return `${name} was asked for by ${ownerText(request)}: its work counts as done, also if somebody is still at it.`
}
