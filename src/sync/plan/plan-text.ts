import { durationText } from '../../time/index.ts'
import { provenanceText } from '../declared.ts'
import { unequalFields } from '../diff.ts'
import type { Inventory } from '../inventory-record.ts'
import { keyId, keyText } from '../key.ts'
import type { Observation, ObservedObject } from '../observed.ts'
import { isReplacement } from './allowed.ts'
import { indexByKey } from './scope.ts'
import type { ApplyStep, DeleteStep, Halt, Plan, Step, WaitStep } from './steps.ts'

/** A plan, and what it was made from. */
export interface Planned {
  readonly plan: Plan
  readonly tip: { readonly sha: string }
  readonly observed: Observation
  readonly memory: { readonly inventory: Inventory }
}

export interface PlanTextOptions {
  readonly isColored: boolean
  /** Each object that stays, with its rule; otherwise only how many do. */
  readonly isVerbose?: boolean
  /** For countdowns; without it the times are named. */
  readonly nowMs?: number
}

type AdoptStep = Extract<ApplyStep, { readonly do: 'adopt' }>

type Colour = 'red' | 'green' | 'yellow' | 'none'

/** Lines about one sort of step. Nothing in them is a value of a field. */
interface Section {
  readonly title: string
  readonly sign: string
  readonly colour: Colour
  readonly lines: readonly string[]
}

/** For terminals: what is lost first, then what is made, then what rests. */
export function planText(planned: Planned, options: PlanTextOptions): string {
  const { plan } = planned
  const paint = (colour: Colour, text: string) => (options.isColored ? painted(colour, text) : text)
  const sections = sectionsOf(planned, options).flatMap(({ title, sign, colour, lines }) =>
    lines.length === 0 ? [] : [paint(colour, title), ...lines.map((line) => paint(colour, `  ${sign} ${line}`))],
  )
  const halts = plan.halts.flatMap(({ reason, message, remedy }) => [
    paint('red', `${haltTitle(reason)}: ${printable(message)}`),
    `  to go on: ${printable(remedy)}`,
  ])
  return `${[...sections, ...halts, ...closingLines(planned)].join('\n')}\n`
}

const mostCharacters = 60_000

/** For a change request: one comment, deletions first. What does not fit is counted. */
export function planMarkdown(
  planned: Planned,
  { mostChars = mostCharacters }: { readonly mostChars?: number } = {},
): string {
  const head = planned.plan.halts.flatMap(({ reason, message, remedy }) => [
    `> **${haltTitle(reason)}**: ${inMarkdown(message)}. To go on: ${inMarkdown(remedy)}.`,
    '',
  ])
  const foot = ['', closingLines(planned).map(inMarkdown).join('. '), '']
  let room = mostChars - [...head, ...foot].join('\n').length
  const body: string[] = []
  for (const { title, lines } of sectionsOf(planned, { isColored: false })) {
    if (lines.length === 0) continue
    const heading = `**${title}**\n`
    const more = `- and ${lines.length} more`
    room -= heading.length + more.length + 2
    if (room < 0) break
    body.push(heading)
    const shown = lines.map((line) => `- ${inMarkdown(line)}`)
    const count = fitting(shown, room)
    body.push(...shown.slice(0, count), ...(count < lines.length ? [`- and ${lines.length - count} more`] : []), '')
    room -= shown.slice(0, count).reduce((sum, line) => sum + line.length + 1, 0)
  }
  return [...head, ...body, ...foot].join('\n').slice(0, mostChars)
}

function fitting(lines: readonly string[], room: number): number {
  let rest = room
  const first = lines.findIndex((line) => {
    rest -= line.length + 1
    return rest < 0
  })
  return first < 0 ? lines.length : first
}

function sectionsOf({ plan: { steps }, observed }: Planned, options: PlanTextOptions): readonly Section[] {
  const live = indexByKey(observed.objects)
  const lines = <S extends Step['do']>(kind: S, text: (step: Extract<Step, { readonly do: S }>) => string) =>
    steps.flatMap((step) =>
      step.do === kind && !isReplacement(step) ? [printable(text(step as Extract<Step, { readonly do: S }>))] : [],
    )
  return [
    { title: 'Delete', sign: '-', colour: 'red', lines: lines('delete', deleteLine) },
    {
      title: 'Replace',
      sign: '±',
      colour: 'red',
      lines: steps.flatMap((step) => (isReplacement(step) ? [printable(applyLine(step, step.fields))] : [])),
    },
    { title: 'Create', sign: '+', colour: 'green', lines: lines('create', (step) => applyLine(step, [])) },
    { title: 'Change', sign: '~', colour: 'yellow', lines: lines('update', (step) => applyLine(step, step.fields)) },
    {
      title: 'Adopt',
      sign: '*',
      colour: 'yellow',
      lines: lines('adopt', (step) => adoptLine(step, live.get(keyId(step.key)))),
    },
    { title: 'Wait', sign: '.', colour: 'none', lines: lines('wait', (step) => waitLine(step, options.nowMs)) },
    { title: 'Forget', sign: '.', colour: 'none', lines: lines('forget', ({ key, why }) => `${keyText(key)}: ${why}`) },
    {
      title: 'Keep',
      sign: '.',
      colour: 'none',
      lines: options.isVerbose
        ? lines('keep', ({ key, rule, why }) => `${keyText(key)}: ${why} (${rule})`)
        : keepCounts(steps),
    },
    {
      title: 'Conflict',
      sign: '!',
      colour: 'red',
      lines: lines('conflict', ({ key, why }) => `${keyText(key)}: ${why}`),
    },
  ]
}

function deleteLine({ key, why, weight, isStranger }: DeleteStep): string {
  const notes = [...(isStranger ? ['stranger'] : []), ...(weight > 1 ? [`counts as ${weight}`] : [])]
  return `${keyText(key)}: ${why}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
}

const mostFields = 8

function applyLine({ key, declared, why }: ApplyStep, fields: readonly string[]): string {
  const names = fields.length === 0 ? '' : `: ${namesText(fields)}`
  return `${keyText(key)} (${provenanceText(declared.from)}): ${why}${names}`
}

function adoptLine(step: AdoptStep, live: ObservedObject | undefined): string {
  const removed = step.removes ? `; removed: ${namesText(step.removes)}` : ''
  return `${applyLine(step, adoptedFields(step, live))}${removed}`
}

function namesText(fields: readonly string[]): string {
  const more = fields.length > mostFields ? ` and ${fields.length - mostFields} more` : ''
  return `${fields.slice(0, mostFields).join(', ')}${more}`
}

/** Each field gets a new owner. Worth telling are those that get another value. */
function adoptedFields({ declared, fields }: AdoptStep, live: ObservedObject | undefined): readonly string[] {
  if (live?.body === undefined) return fields
  const unequal = new Set(unequalFields(declared.body, live))
  return fields.filter((field) => unequal.has(field))
}

function waitLine({ key, why, until, waitsFor }: WaitStep, nowMs: number | undefined): string {
  if (until === undefined) return `${keyText(key)}: ${why}${waitsFor === 'approval' ? ' (stranger)' : ''}`
  const left = nowMs === undefined ? `at ${until}` : `in ${durationText(Math.max(0, Date.parse(until) - nowMs))}`
  return `${keyText(key)}: ${why}; deleted ${left}`
}

function keepCounts(steps: readonly Step[]): string[] {
  const counts = new Map<string, number>()
  for (const step of steps) if (step.do === 'keep') counts.set(step.rule, (counts.get(step.rule) ?? 0) + 1)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const rules = [...counts].map(([rule, count]) => `${rule} ${count}`).sort()
  return total === 0
    ? []
    : [`${total === 1 ? '1 object' : `${total} objects`} that nothing declares: ${rules.join(', ')}`]
}

function closingLines(planned: Planned): string[] {
  const { steps, hash, unchanged, budget } = planned.plan
  const isQuiet = steps.every((step) => step.do === 'keep' || step.do === 'wait')
  const same = `${unchanged} ${unchanged === 1 ? 'object is' : 'objects are'} as declared`
  const failure = failureOf(planned)
  const quiet = failure ? 'Nothing to write, and a run looks anew whether all is healthy' : 'Nothing to do'
  return [
    ...(failure ? [printable(failure)] : []),
    isQuiet ? `${quiet}: ${same}` : same[0]?.toUpperCase() + same.slice(1),
    ...(budget.used > 0 ? [`Deletions count ${budget.used}; up to ${budget.limit} need no approval`] : []),
    `Plan ${hash}`,
  ]
}

/** A commit may have been applied in full and have failed all the same: not everything became healthy, or went. */
function failureOf({ tip, memory }: Planned): string | undefined {
  const verdict = memory.inventory.verdicts.find(({ revision }) => revision === tip.sha)
  if (verdict?.is !== 'Failed') return undefined
  return `Commit ${tip.sha.slice(0, 12)} failed at ${verdict.at}${verdict.why === undefined ? '' : `: ${verdict.why}`}`
}

/** `OverBudget` is read as `Over budget`. */
function haltTitle(reason: Halt['reason']): string {
  const words = reason.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return `${reason === 'OpeningListNotApproved' ? 'No stranger' : 'Nothing'} is deleted. ${words}`
}

/** A name or an annotation may hold anything; what moves the cursor would let it lie about the rest. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\uFFFD')
}

/** Text, never markup: whoever can open a change request can choose names. */
function inMarkdown(text: string): string {
  return printable(text).replaceAll(/[\\`*_{}[\]<>()#+!|~@&]/g, (sign) => `\\${sign}`)
}

const codes = { red: 31, green: 32, yellow: 33 } as const

function painted(colour: Colour, text: string): string {
  return colour === 'none' ? text : `\u001B[${codes[colour]}m${text}\u001B[0m`
}
