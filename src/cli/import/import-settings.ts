import { budgetName, group, maintenanceBudget, maintenanceWindow, version } from '../../api/index.ts'
import { isChartValues, readChartValues } from './chart-values.ts'
import { containerOf, type ReadSource, readDaemonSet } from './daemon-set.ts'
import type { AgentValues, BudgetDraft, Finding, Part, Place, SecretKey } from './finding.ts'
import { notNeeded, placeText, stopped } from './finding.ts'
import { InputFault, itemsAt, type Located, readDocuments, textAt } from './located.ts'
import type { About, ImportedProgram } from './program.ts'
import { inForce } from './settings.ts'

export interface InputFile {
  readonly file: string
  readonly text: string
}

/** All that an import comes to. */
export interface Imported {
  readonly program: ImportedProgram['name']
  readonly objects: readonly ImportedObject[]
  /** For Fettle's chart. */
  readonly values: { readonly agent: AgentValues }
  readonly secretKeys: readonly SecretKey[]
  readonly findings: readonly Finding[]
  /** Why the budget lets no node out, if so, and what its max would be. */
  readonly stop?: { readonly settings: readonly string[]; readonly max: number | string }
}

export interface ImportedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: object
}

/** Reads the settings of another program and says them in our words. Asks nobody, and does nothing. */
export function importSettings(program: ImportedProgram, files: readonly InputFile[]): Imported {
  const read = readInput(program, files)
  const { settings, findings } = inForce(
    program.flags,
    read.sources.map(({ source }) => source),
    program.secrets,
  )
  const parts = [
    ...read.sources,
    { findings: [...read.findings, ...findings] },
    ...program.translate(settings, read.about),
  ]
  const all = inOrder(
    parts.flatMap((part) => part.findings),
    files,
  )
  const { budget, agent } = joined(parts)
  const { max = 1, ...limits } = budget
  const stops = [...new Set(all.filter(({ stops }) => stops).map(({ setting }) => setting))]
  const windows = parts.flatMap((part) => ('windows' in part ? (part.windows ?? []) : []))
  return {
    program: program.name,
    objects: [
      ...windows.map(({ name, spec }) => objectOf(maintenanceWindow.kind, name, spec)),
      objectOf(maintenanceBudget.kind, budgetName, { max: stops.length > 0 ? 0 : max, ...limits }),
    ],
    values: { agent },
    secretKeys: parts.flatMap((part) => ('secretKeys' in part ? (part.secretKeys ?? []) : [])),
    findings: all,
    ...(stops.length > 0 ? { stop: { settings: stops, max } } : {}),
  }
}

function objectOf(kind: string, name: string, spec: object): ImportedObject {
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec }
}

interface ReadInput {
  readonly sources: readonly ReadSource[]
  readonly findings: readonly Finding[]
  readonly about: About
}

function readInput(program: ImportedProgram, files: readonly InputFile[]): ReadInput {
  const sources: ReadSource[] = []
  const findings: Finding[] = []
  const metrics: { readonly as: string; readonly place: Place }[] = []
  let manifest: Place | undefined
  let mountsSentinel: boolean | undefined
  for (const { file, text } of files)
    for (const document of readDocuments(file, text).flatMap(itemsOf)) {
      const kind = textAt(document, 'kind')
      const place = { file, line: document.line }
      if (kind === undefined) {
        if (document.kind !== 'map' || !isChartValues(document, program))
          throw new InputFault(
            `${placeText(place)}: it is neither an object of Kubernetes nor values of the chart of ${program.name}; give a file with one of them`,
          )
        const read = readChartValues(document, file, program)
        mountsSentinel = read.mountsSentinel ?? mountsSentinel ?? true
        metrics.push(...read.about.metrics)
        sources.push(read)
        continue
      }
      const container = kind === 'DaemonSet' ? containerOf(document, program) : undefined
      if (!container) {
        findings.push(aboutOther(document, kind, place, program))
        continue
      }
      if (manifest)
        throw new InputFault(
          `${placeText(place)}: a DaemonSet of ${program.name} is at ${placeText(manifest)} already, and there is one budget; import one of them and write by hand what the other does otherwise`,
        )
      manifest = place
      sources.push(readDaemonSet(document, container, file, program))
    }
  if (sources.length === 0)
    throw new InputFault(
      `${files.map(({ file }) => file).join(', ')}: nothing of ${program.name} is in there; give the values of its chart, or its DaemonSet as kubectl get -o yaml prints it`,
    )
  const about = { hasManifest: manifest !== undefined, metrics, mountsSentinel: mountsSentinel ?? false }
  return { sources, findings, about }
}

/** The objects of a list, which kubectl prints for several. */
function itemsOf(document: Located): readonly Located[] {
  return textAt(document, 'kind')?.endsWith('List') ? itemsAt(document, 'items') : [document]
}

const company = [
  ['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding', 'PodSecurityPolicy'],
  ['Service', 'ServiceMonitor', 'PodMonitor', 'NetworkPolicy', 'ConfigMap', 'Secret', 'PrometheusRule'],
].flat()

function aboutOther(document: Located, kind: string, place: Place, program: ImportedProgram): Finding {
  const name = textAt(document, 'metadata', 'name') ?? 'without name'
  const subject = { as: `${kind} ${name}`, place }
  if (kind === 'DaemonSet') return notNeeded(subject, `it does not run ${program.name}`)
  if (company.includes(kind)) return notNeeded(subject, 'what Fettle needs comes with it')
  return stopped(
    subject,
    `only DaemonSets and values are read; if it holds values of ${program.name}, give them as a file`,
  )
}

/** As they stand in the files; what has no place comes last. */
function inOrder(findings: readonly Finding[], files: readonly InputFile[]): Finding[] {
  const order = files.map(({ file }) => file)
  const rank = ({ place }: Finding) => (place ? order.indexOf(place.file) : order.length)
  return [...findings].sort((a, b) => rank(a) - rank(b) || (a.place?.line ?? 0) - (b.place?.line ?? 0))
}

function joined(parts: readonly (Part | ReadSource)[]): { readonly budget: BudgetDraft; readonly agent: AgentValues } {
  const budgets = parts.flatMap((part) => ('budget' in part ? (part.budget ?? []) : []))
  const agents = parts.flatMap((part) => part.agent ?? [])
  return { budget: budgets.reduce<BudgetDraft>(join, {}), agent: agents.reduce<AgentValues>(join, {}) }
}

/** Maps are joined, lists put behind each other, and of anything else the later counts. */
function join<T>(one: T, other: T): T {
  if (Array.isArray(one) && Array.isArray(other)) return [...one, ...other] as T
  if (!isMap(one) || !isMap(other)) return other
  const result: Record<string, unknown> = { ...one }
  for (const [key, value] of Object.entries(other)) result[key] = key in result ? join(result[key], value) : value
  return result as T
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
