import { noSuchFlag, type ReadSource, readEnvironment } from './daemon-set.ts'
import { differs, type Finding, notNeeded, type Seen, stopped } from './finding.ts'
import { isEmpty, itemsAt, type Located, type LocatedEntry, type LocatedMap } from './located.ts'
import { readPlacement } from './placement.ts'
import type { About, ImportedProgram } from './program.ts'
import type { FlagForm } from './settings.ts'

interface ReadValues extends ReadSource {
  readonly about: Pick<About, 'metrics'>
  /** Missing where the values do not say so. */
  readonly mountsSentinel?: boolean
}

/** Values of the program's chart, at the top or below its name as in an umbrella chart. */
export function readChartValues(values: LocatedMap, file: string, program: ImportedProgram): ReadValues {
  const below = values.entries.find(({ key }) => key === program.executable)
  if (below?.value.kind === 'map') {
    const read = readTop(below.value, file, program, `${program.executable}.`)
    const others = values.entries.filter((entry) => entry !== below)
    const findings = others.map(({ key, line }) =>
      notNeeded({ as: key, place: { file, line } }, 'it belongs to another chart'),
    )
    return { ...read, findings: [...findings, ...read.findings] }
  }
  return readTop(values, file, program, '')
}

/** Whether a document without kind looks like values of the program's chart. */
export function isChartValues(values: LocatedMap, { executable, chart }: ImportedProgram): boolean {
  const atTop = chart.flagsBelow === undefined ? [] : [chart.flagsBelow, 'extraArgs', 'extraEnvVars', ...chart.ownPods]
  return values.entries.some(({ key }) => key === executable || atTop.includes(key))
}

function readTop(values: LocatedMap, file: string, program: ImportedProgram, prefix: string): ReadValues {
  const { chart } = program
  const flags: Seen[] = []
  const extra: Seen[] = []
  const findings: Finding[] = []
  const metrics: { as: string; place: { file: string; line: number } }[] = []
  let environment: readonly Seen[] = []
  let mountsSentinel: boolean | undefined
  const say = (read: { readonly seen: readonly Seen[]; readonly findings: readonly Finding[] }, to: Seen[]) => {
    to.push(...read.seen)
    findings.push(...read.findings)
  }
  const takesFlags = chart.flagsBelow !== undefined
  for (const { key, line, value } of values.entries) {
    const subject = { as: `${prefix}${key}`, place: { file, line } }
    if (chart.ownPods.includes(key)) {
      if (isCreated(key, value)) metrics.push(subject)
      else findings.push(notNeeded(subject, `it is about the pods of ${program.name} itself`))
    } else if (!takesFlags) findings.push(stopped(subject, noSuchFlag(program)))
    else if (key === chart.flagsBelow && value.kind === 'map')
      for (const entry of value.entries) {
        const as = `${subject.as}.${entry.key}`
        if (entry.key !== 'useRebootSentinelHostPath') say(readFlag(entry, as, file, program), flags)
        else {
          mountsSentinel = !isEmpty(entry.value)
          findings.push(notNeeded({ as, place: { file, line: entry.line } }, 'the agent sees the files of its host'))
        }
      }
    else if (key === 'extraArgs' && value.kind === 'map')
      for (const entry of value.entries) say(readExtra(entry, `${subject.as}.${entry.key}`, file, program), extra)
    else if (key === 'extraEnvVars') {
      const read = readEnvironment(itemsAt(values, key), file, program)
      environment = read.seen
      findings.push(...read.findings)
    } else if (key === 'fullnameOverride')
      say(readFlag({ key: 'dsName', line, value }, subject.as, file, program), flags)
    else if (['nodeSelector', 'tolerations', 'affinity'].includes(key)) continue
    else findings.push(stopped(subject, noSuchFlag(program)))
  }
  const fixed = Object.entries(chart.fixed).map(([flag, text]): Seen => {
    return { as: `--${flag} in its chart`, flag, place: { file, line: values.line }, text }
  })
  const placed = takesFlags ? readPlacement(values, file, prefix) : { agent: {}, findings: [] }
  return {
    source: { values: [...fixed, ...flags, ...extra], environment },
    agent: placed.agent,
    findings: [...findings, ...placed.findings],
    about: { metrics },
    ...(mountsSentinel === undefined ? {} : { mountsSentinel }),
  }
}

/** `metrics` and `service` say so for what reads the program's metrics. */
function isCreated(key: string, value: Located): boolean {
  if (key !== 'metrics' && key !== 'service') return false
  return value.kind === 'map' && value.entries.some(({ key, value }) => key === 'create' && !isEmpty(value))
}

/** `lockReleaseDelay` is --lock-release-delay; what is empty is not passed. */
function readFlag({ key, line, value }: LocatedEntry, as: string, file: string, program: ImportedProgram) {
  const flag = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const place = { file, line }
  const form = program.flags[flag]
  if (!form) return { seen: [], findings: [stopped({ as, place }, noSuchFlag(program))] }
  if (isEmpty(value)) return { seen: [{ as, flag, place, isUnset: true as const }], findings: [] }
  const items = value.kind === 'list' ? value.items : [value]
  const takesItems = form === 'list' || form === 'repeated'
  if ((value.kind === 'list' && !takesItems) || items.some(({ kind }) => kind !== 'scalar'))
    return { seen: [], findings: [stopped({ as, place }, `write a ${takesItems ? 'list of texts' : 'text'} here`)] }
  const seen = items.flatMap((item): Seen[] =>
    item.kind === 'scalar' ? [{ as, flag, place: { file, line: item.line }, text: written(item.text, form) }] : [],
  )
  return { seen, findings: [] }
}

function readExtra({ key, line, value }: LocatedEntry, as: string, file: string, program: ImportedProgram) {
  const form = program.flags[key]
  const place = { file, line }
  if (!form || value.kind !== 'scalar') return { seen: [], findings: [stopped({ as, place }, noSuchFlag(program))] }
  // Without a value the chart writes the bare flag, which only a switch can be.
  if (isEmpty(value) && form !== 'switch')
    return { seen: [], findings: [differs({ as, place }, 'it has no value, and is left out')] }
  const text = isEmpty(value) ? 'true' : written(value.text, form)
  return { seen: [{ as, flag: key, place, text }], findings: [] }
}

/** Helm reads YAML 1.1, where yes and on are true. */
function written(text: string, form: FlagForm): string {
  if (form !== 'switch') return text
  if (/^(y|yes|on)$/i.test(text)) return 'true'
  return /^(n|no|off)$/i.test(text) ? 'false' : text
}
