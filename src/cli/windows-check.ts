import { type Document, isMap, isScalar, LineCounter, parseAllDocuments } from 'yaml'
import {
  group,
  type MaintenanceWindow,
  maintenanceWindow,
  objectSchema,
  type StructuralSchema,
  version,
} from '../api/index.ts'
import { readWindowObject, type Timetable, timetableOf, viewWindow } from '../queue/index.ts'
import { durationMs } from '../time/index.ts'
import { timetableText } from './timetable.ts'

export interface CheckedFile {
  readonly windows: readonly CheckedWindow[]
  readonly faults: readonly Fault[]
}

interface CheckedWindow {
  readonly name: string
  readonly timeZone: string
  readonly timetable: Timetable
  /** What could not be looked at here. */
  readonly remarks: readonly string[]
}

/** What is wrong, and where to look. */
export interface Fault {
  readonly line: number
  readonly message: string
}

type Path = readonly (string | number)[]

const schema = objectSchema(maintenanceWindow)
const emptyCalendar = { text: 'BEGIN:VCALENDAR\nEND:VCALENDAR' }

/** Reads all MaintenanceWindows of a file as the controller would; other objects are nobody's business here. */
export function checkWindows(text: string, nowMs: number, count: number): CheckedFile {
  const lines = new LineCounter()
  const windows: CheckedWindow[] = []
  const faults: Fault[] = []
  for (const document of parseAllDocuments(text, { lineCounter: lines })) {
    if (!('contents' in document)) continue
    const lineAt = (path: Path) => lineOf(document, path, lines)
    const say = (path: Path, message: string) =>
      void faults.push({ line: lineAt(path), message: path.length > 0 ? `${pathText(path)}: ${message}` : message })
    for (const { message, linePos } of document.errors)
      faults.push({ line: linePos?.[0].line ?? 1, message: message.split('\n')[0] ?? message })
    const object = document.errors.length > 0 ? undefined : (document.toJS() as unknown)
    if (!isRecord(object) || object['kind'] !== maintenanceWindow.kind) continue
    const before = faults.length
    checkShape(object, say)
    if (faults.length > before) continue
    const checked = checkTimes(object as unknown as MaintenanceWindow, nowMs, count, say)
    if (checked && faults.length === before) windows.push(checked)
  }
  return { windows, faults: faults.sort((a, b) => a.line - b.line) }
}

function checkShape(object: Readonly<Record<string, unknown>>, say: (path: Path, message: string) => void): void {
  const apiVersion = `${group}/${version}`
  if (object['apiVersion'] !== apiVersion)
    say(['apiVersion'], `it is ${JSON.stringify(object['apiVersion'])}; write ${apiVersion}`)
  if (!isRecord(object['metadata']) || typeof object['metadata']['name'] !== 'string')
    say(['metadata'], 'it has no name; write metadata: {name: …}')
  for (const path of unknownFields(object['spec'], schema.properties?.['spec'], ['spec']))
    say(path, 'there is no such field; `kubectl explain mwin.spec` lists them')
  const parsed = maintenanceWindow.spec.safeParse(object['spec'])
  for (const { path, message } of parsed.error?.issues ?? []) {
    const at = ['spec', ...(path as (string | number)[])]
    const wanted = schemaAt(schema, at)?.title
    say(at, wanted === undefined ? message : `${JSON.stringify(valueAt(object, at))} is not a ${wanted}`)
  }
  for (const field of ['lead', 'onClose'])
    if (isRecord(object['spec']) && field in object['spec'])
      say(['spec', field], 'it has no effect in this version of Fettle; leave it out')
}

function checkTimes(
  object: MaintenanceWindow,
  nowMs: number,
  count: number,
  say: (path: Path, message: string) => void,
): CheckedWindow | undefined {
  // With its defaults, as the server would fill them in.
  const spec = maintenanceWindow.spec.parse(object.spec) as MaintenanceWindow['spec']
  const window = { ...object, spec }
  const { minRemaining, duration } = spec
  // The API refuses it also where such windows follow each other without a break, so that there would be enough left.
  const isNeverEnough =
    minRemaining !== undefined && duration !== undefined && durationMs(minRemaining) >= durationMs(duration)
  if (isNeverEnough)
    say(['spec', 'minRemaining'], `${minRemaining} is not shorter than the duration, ${duration}; make it shorter`)
  const read = readWindowObject(window, () => emptyCalendar)
  for (const { path, message } of read.problems) say(['spec', ...readPath(path)], message)
  if (!read.window) return undefined
  const timetable = timetableOf(read, nowMs, count)
  const { isOpen, opensAtMs } = viewWindow(window, () => emptyCalendar, nowMs)
  if (!timetable.current && timetable.next.length === 0)
    say(['spec', 'schedule'], 'it does not open within the next five years; look at its dates')
  else if (!isNeverEnough && !isOpen && opensAtMs === undefined)
    say(['spec', 'minRemaining'], 'it is longer than the window is ever open, so that nothing would be claimed')
  const remarks = (spec.exclusions ?? []).flatMap(({ ics }, index) =>
    ics
      ? [
          `exclusions[${index}]: the calendar in ConfigMap ${ics.configMapRef.name} was not looked at; it takes times away`,
        ]
      : [],
  )
  return { name: object.metadata.name ?? '', timeZone: spec.timeZone, timetable, remarks }
}

export function checkText(file: string, { windows, faults }: CheckedFile): string {
  const wrong = faults.map(({ line, message }) => `${file}:${line}: ${message}\n`)
  const right = windows.map(
    ({ name, timeZone, timetable, remarks }) =>
      `${name}: ${timetable.current ? 'open' : 'closed'}\n${timetableText(timetable, timeZone)}${remarks.map((remark) => `${remark}\n`).join('')}`,
  )
  const nothing = wrong.length + right.length === 0 ? [`${file}: it holds no MaintenanceWindow\n`] : []
  return [...wrong, ...right, ...nothing].join('')
}

/** The server would drop them without a word, and the window would mean something else. */
function unknownFields(value: unknown, known: StructuralSchema | undefined, path: Path): Path[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => unknownFields(item, known?.items, [...path, index]))
  if (!isRecord(value) || !known?.properties) return []
  return Object.entries(value).flatMap(([name, field]) => {
    const below = known.properties?.[name]
    return below ? unknownFields(field, below, [...path, name]) : [[...path, name]]
  })
}

function schemaAt(from: StructuralSchema, path: Path): StructuralSchema | undefined {
  return path.reduce<StructuralSchema | undefined>(
    (node, step) => (typeof step === 'number' ? node?.items : node?.properties?.[step]),
    from,
  )
}

function valueAt(from: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string | number, unknown> | undefined)?.[step], from)
}

/** The line of a field, or of the closest thing around it that is there. */
function lineOf(document: Document.Parsed, path: Path, lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === name) : undefined
    const node = pair ? pair.key : document.getIn(path.slice(0, length), true)
    const range = (node as { readonly range?: readonly number[] } | undefined)?.range
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line
  }
  return lines.linePos(document.contents?.range?.[0] ?? 0).line
}

/** `exclusions[1].cron` as steps. */
function readPath(text: string): Path {
  return text
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

function pathText(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
