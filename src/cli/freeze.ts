import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { type MaintenanceFreeze, maintenanceFreezes } from '../api/index.ts'
import { type ConnectedClient, isNotFound } from '../kube/index.ts'
import { freezeText, shortTime, viewFreezes } from '../queue/index.ts'
import { durationMs, zoneOf } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { userName } from './user-name.ts'

interface FreezeFlags extends ClusterFlags {
  readonly reason: string
  readonly until?: string
}

/** `fettle freeze` and `fettle thaw`: stop all claims at once, and let them go on. */
export function addFreezeCommands(program: Command, context: CliContext): void {
  addClusterOptions(program.command('freeze'))
    .description('no further node is taken out of service; work that is under way ends as usual')
    .requiredOption('--reason <text>', 'why; shown everywhere')
    .option('--until <time>', 'how long, as 2h, 2026-12-24T18:00 or 2026-12-24T18:00Z; without it until `fettle thaw`')
    .action(async (flags: FreezeFlags) => {
      const untilMs = flags.until === undefined ? undefined : readUntil(flags.until, context.nowMs(), ownTimeZone())
      await withCluster(flags, async (client) => {
        const by = (await userName(client)) ?? userInfo().username
        const freeze: MaintenanceFreeze = {
          metadata: { name: `freeze-${randomBytes(4).toString('hex').slice(0, 5)}` },
          spec: {
            reason: flags.reason,
            by,
            ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
          },
        }
        const made = await client
          .create<MaintenanceFreeze>(maintenanceFreezes, freeze, { fieldManager: 'fettle-cli' })
          .catch(notInstalled)
        const { name } = made.metadata
        const end = made.spec.until === undefined ? '' : `until ${shortTime(made.spec.until)}, or `
        context.out(`${name}: no node is claimed ${end}until \`fettle thaw ${name}\`\n`)
      })
    })

  addClusterOptions(program.command('thaw'))
    .description('end a freeze; nodes are claimed again when no other one is left')
    .argument('[freeze]', 'which one; needed only when there are several')
    .action(async (name: string | undefined, flags: ClusterFlags) => {
      await withCluster(flags, async (client) => context.out(await thaw(client, name, context.nowMs())))
    })
}

async function thaw(client: ConnectedClient, name: string | undefined, nowMs: number): Promise<string> {
  const all = await listAll<MaintenanceFreeze>(client, maintenanceFreezes).catch(notInstalled)
  const ended = chosen(all, name, nowMs)
  if (!ended) return 'nothing is frozen\n'
  const wasInForce = isInForce(ended, nowMs)
  const { name: endedName = '', uid = '' } = ended.metadata
  await client.delete(maintenanceFreezes, { name: endedName }, { uid }).catch((error: unknown) => {
    // Somebody else was faster; it is gone, as asked.
    if (!isNotFound(error)) throw error
  })
  const left = freezeText(
    viewFreezes(
      all.filter((freeze) => freeze !== ended),
      nowMs,
    ),
  )
  if (!wasInForce) return `${endedName}: removed; it was not in force\n`
  return `${endedName}: ended${left === undefined ? '; nodes are claimed again' : `, but ${left}`}\n`
}

/** Without a name only what is in force can be meant: one that is planned, or over, is nobody's obstacle now. */
export function chosen(
  freezes: readonly MaintenanceFreeze[],
  name: string | undefined,
  nowMs: number,
): MaintenanceFreeze | undefined {
  const named = freezes.filter((freeze) =>
    name === undefined ? isInForce(freeze, nowMs) : freeze.metadata.name === name,
  )
  const [first, ...others] = named
  if (!first && name !== undefined)
    throw new CliFault(`there is no MaintenanceFreeze ${name}; \`kubectl get mfreeze\` lists them`)
  if (others.length > 0) {
    const list = named.map(({ metadata, spec }) => `${metadata.name} (${spec.reason})`).join(', ')
    throw new CliFault(`there are several freezes; say which one ends: ${list}`)
  }
  return first
}

function isInForce(freeze: MaintenanceFreeze, nowMs: number): boolean {
  return viewFreezes([freeze], nowMs).active.length > 0
}

/** Later ones have more digits than a date of Kubernetes. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

/** An end that a person wrote: how long, or when, in their own zone unless they name another. */
export function readUntil(text: string, nowMs: number, timeZone: string): number {
  const untilMs = untilOf(text, nowMs, timeZone)
  if (untilMs === undefined || Number.isNaN(untilMs))
    throw new CliFault(
      `--until: '${text}' is not a time; write how long, such as 2h, or when, such as 2026-12-24T18:00 (in ${timeZone}) or 2026-12-24T18:00Z`,
    )
  if (untilMs > lastMs)
    throw new CliFault(
      `--until: '${text}' ends after the year 9999; without --until it is frozen until \`fettle thaw\``,
    )
  if (untilMs <= nowMs)
    throw new CliFault(`--until: '${text}' is over already: it is ${shortTime(new Date(nowMs).toISOString())}`)
  return untilMs
}

function untilOf(text: string, nowMs: number, timeZone: string): number | undefined {
  if (/^([0-9]+(h|m|s|ms))+$/.test(text)) return nowMs + durationMs(text)
  const [, time, zone = ''] = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? []
  const ms = Date.parse(`${time}Z`)
  // Date carries February 30 over into March.
  if (time === undefined || Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(time)) return undefined
  return zone === '' ? zoneOf(timeZone).toInstant(ms, 'last') : Date.parse(text)
}

function ownTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}
