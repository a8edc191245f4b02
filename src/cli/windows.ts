import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { type MaintenanceFreeze, type MaintenanceWindow, maintenanceFreezes, maintenanceWindows } from '../api/index.ts'
import { type ConnectedClient, isNotFound } from '../kube/index.ts'
import { freezeText, readWindowObject, timetableOf, viewFreezes, viewWindow } from '../queue/index.ts'
import { durationText } from '../time/index.ts'
import { readCalendars, usualNamespace } from './calendars.ts'
import { addClusterOptions, type ClusterFlags, listAll, notInstalled, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault } from './context.ts'
import { wholeNumber } from './options.ts'
import { timesOf, timetableText, utcTime } from './timetable.ts'
import { checkText, checkWindows } from './windows-check.ts'

interface WindowsFlags extends ClusterFlags {
  readonly next: number
  readonly namespace: string
  readonly output: string
}

/** `fettle windows`: when nodes may be claimed. */
export function addWindowsCommands(program: Command, context: CliContext): void {
  const windows = program.command('windows').description('when nodes may be taken out of service')

  addClusterOptions(windows.command('show', { isDefault: true }))
    .description('all windows, open or not, or the times of one; `fettle windows` alone does the same')
    .argument('[window]')
    .option('--next <count>', 'how many times of one window to show', wholeNumber(1, 100), 10)
    .option('--namespace <name>', 'where calendars are that are named without namespace', usualNamespace)
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (name: string | undefined, flags: WindowsFlags) => {
      const nowMs = context.nowMs()
      const text = await withCluster(flags, async (client) => {
        if (name === undefined) return showAll(client, flags, nowMs)
        return showOne(client, name, flags, nowMs)
      })
      context.out(text)
    })

  windows
    .command('check')
    .description('read a YAML file with MaintenanceWindows without a cluster; exit code 1 when one of them is wrong')
    .argument('<file>')
    .option('--next <count>', 'how many times of each window to show', wholeNumber(1, 100), 5)
    .action(async (file: string, { next }: { readonly next: number }) => {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        throw new CliFault(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      })
      const found = checkWindows(text, context.nowMs(), next)
      context.out(checkText(file, found))
      if (found.windows.length === 0 || found.faults.length > 0) context.exitCode(1)
    })
}

async function showAll(client: ConnectedClient, flags: WindowsFlags, nowMs: number): Promise<string> {
  const [windows, freezes] = await Promise.all([
    listAll<MaintenanceWindow>(client, maintenanceWindows),
    listAll<MaintenanceFreeze>(client, maintenanceFreezes),
  ]).catch(notInstalled)
  const calendarOf = await readCalendars(client, windows, flags.namespace)
  const frozen = freezeText(viewFreezes(freezes, nowMs)) ?? null
  const views = windows.map((window) => viewWindow(window, calendarOf, nowMs))
  if (flags.output === 'json') return `${JSON.stringify({ frozen, windows: views }, null, 2)}\n`
  const widest = Math.max(0, ...views.map(({ name }) => name.length))
  const lines = views.map(({ name, ...state }) => `${name.padEnd(widest)}  ${stateText(state, nowMs)}\n`)
  return [
    ...(lines.length > 0 ? lines : ['there is no MaintenanceWindow: nodes may be claimed at any time\n']),
    ...(frozen === null ? [] : [`frozen: ${frozen}\n`]),
  ].join('')
}

async function showOne(client: ConnectedClient, name: string, flags: WindowsFlags, nowMs: number): Promise<string> {
  const window = await client.get<MaintenanceWindow>(maintenanceWindows, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new CliFault(`there is no MaintenanceWindow ${name}; \`fettle windows\` lists them`)
  })
  const calendarOf = await readCalendars(client, [window], flags.namespace)
  const read = readWindowObject(window, calendarOf)
  const timetable = timetableOf(read, nowMs, flags.next)
  const { name: _, ...state } = viewWindow(window, calendarOf, nowMs)
  if (flags.output === 'json')
    return `${JSON.stringify({ name, timeZone: window.spec.timeZone, ...state, times: timesOf(timetable) }, null, 2)}\n`
  const head = `${name}: ${stateText(state, nowMs)}\n`
  return read.window ? `${head}${timetableText(timetable, read.window.timeZone)}` : head
}

function stateText(
  { isOpen, closesAtMs, opensAtMs, problem }: Omit<ReturnType<typeof viewWindow>, 'name'>,
  nowMs: number,
): string {
  if (problem !== undefined) return `closed: ${problem}`
  const moment = (ms: number) => `${utcTime(ms)} UTC (in ${durationText(ms - nowMs)})`
  if (isOpen) return closesAtMs === undefined ? 'open' : `open; nodes are claimed until ${moment(closesAtMs)}`
  return opensAtMs === undefined ? 'closed; it does not open within five years' : `closed; opens ${moment(opensAtMs)}`
}
