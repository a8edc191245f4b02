import { type Finding, notNeeded, type Place, refused, type Seen, stopped } from './finding.ts'
import { at, entryOf, isEmpty, itemsAt, type Located, textAt } from './located.ts'
import { type Placement, readPlacement } from './placement.ts'
import type { ImportedProgram } from './program.ts'
import type { Source } from './settings.ts'

export interface ReadSource extends Placement {
  readonly source: Source
}

/** Whether a DaemonSet runs the program: by its executable, its image, or the variables of its environment. */
export function containerOf(manifest: Located, program: ImportedProgram): Located | undefined {
  return itemsAt(manifest, 'spec', 'template', 'spec', 'containers').find((container) => {
    const [first] = itemsAt(container, 'command')
    const image = textAt(container, 'image')?.split('/').at(-1)?.split(/[:@]/)[0]
    const variables = itemsAt(container, 'env').map((one) => textAt(one, 'name') ?? '')
    return (
      image === program.executable ||
      (first?.kind === 'scalar' && baseName(first.text) === program.executable) ||
      variables.includes(`${program.environmentPrefix}NODE_ID`)
    )
  })
}

export function readDaemonSet(
  manifest: Located,
  container: Located,
  file: string,
  program: ImportedProgram,
): ReadSource {
  const pod = at(manifest, 'spec', 'template', 'spec')
  const placed = readPlacement(pod, file, '')
  const environment = readEnvironment(itemsAt(container, 'env'), file, program)
  const hidden = entryOf(container, 'envFrom')
  const arguments_ = readArguments(wordsOf(container, environment.variables), file, program)
  const onHost = hostPathOf(container, pod)
  const values = arguments_.seen.map((seen) =>
    program.hostPaths.includes(seen.flag) && seen.text !== undefined ? { ...seen, text: onHost(seen.text) } : seen,
  )
  return {
    source: { values, environment: environment.seen },
    agent: placed.agent,
    findings: [
      ...placed.findings,
      ...arguments_.findings,
      ...environment.findings,
      ...(hidden && !isEmpty(hidden.value)
        ? [
            stopped(
              { as: 'envFrom', place: { file, line: hidden.line } },
              'its variables are not read; write them below env',
            ),
          ]
        : []),
    ],
  }
}

interface Word {
  readonly text: string
  readonly line: number
  /** Where a part of it comes from that is not known here. */
  readonly heldBy?: string
}

/** Command and arguments as the kubelet passes them. */
function wordsOf(container: Located, variables: ReadonlyMap<string, Variable>): Word[] {
  const [command, args] = [itemsAt(container, 'command'), itemsAt(container, 'args')]
  return [...command, ...args].map((item) => {
    let heldBy: string | undefined
    const text = (item.kind === 'scalar' ? item.text : '').replaceAll(
      /\$(\$?)\(([-._A-Za-z0-9]+)\)/g,
      (whole, doubled, name) => {
        if (doubled !== '') return whole.slice(1)
        const variable = variables.get(name)
        heldBy ??= variable?.heldBy
        return variable?.text ?? whole
      },
    )
    return { text, line: item.line, ...(heldBy === undefined ? {} : { heldBy }) }
  })
}

interface ReadWords {
  readonly seen: readonly Seen[]
  readonly findings: readonly Finding[]
}

/** `--flag=value`, `--flag value`, and `--switch` alone. */
export function readArguments(words: readonly Word[], file: string, program: ImportedProgram): ReadWords {
  const seen: Seen[] = []
  const findings: Finding[] = []
  const left = [...words]
  const first = left[0]
  if (first && !first.text.startsWith('-')) {
    left.shift()
    if (baseName(first.text) !== program.executable)
      return {
        seen,
        findings: [
          stopped(
            { as: 'command', place: { file, line: first.line } },
            `it starts ${baseName(first.text)}, not ${program.executable}, so its flags cannot be read; write them as args`,
          ),
        ],
      }
  }
  for (let word = left.shift(); word; word = left.shift()) {
    const [, flag, value] = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(word.text) ?? []
    const place = { file, line: word.line }
    if (flag === undefined) {
      findings.push(refused({ as: 'argument', place }, `it is not a flag of ${program.name}; write --flag=value`))
      continue
    }
    const form = program.flags[flag]
    if (!form) {
      findings.push(stopped({ as: `--${flag}`, place }, noSuchFlag(program)))
      continue
    }
    const next = value === undefined && form !== 'switch' ? left.shift() : undefined
    const heldBy = word.heldBy ?? next?.heldBy
    const text = value ?? next?.text ?? (form === 'switch' ? 'true' : '')
    seen.push({ as: `--${flag}`, flag, place, text, ...(heldBy === undefined ? {} : { heldBy }) })
  }
  return { seen, findings }
}

export function noSuchFlag(program: ImportedProgram): string {
  return `no such setting of ${program.name} is known; look what it does, and write that by hand`
}

interface Variable {
  readonly text?: string
  readonly heldBy?: string
}

interface ReadEnvironment extends ReadWords {
  readonly variables: ReadonlyMap<string, Variable>
}

/** A container's `env`; the chart of kured takes the same list as extraEnvVars. */
export function readEnvironment(items: readonly Located[], file: string, program: ImportedProgram): ReadEnvironment {
  const seen: Seen[] = []
  const findings: Finding[] = []
  const variables = new Map<string, Variable>()
  for (const item of items) {
    const as = textAt(item, 'name') ?? 'env'
    const place: Place = { file, line: item.line }
    const variable = variableOf(item)
    variables.set(as, variable)
    if (!as.startsWith(program.environmentPrefix)) {
      findings.push(notNeeded({ as, place }, `it is no setting of ${program.name}`))
      continue
    }
    const means = program.flagOfVariable(as)
    if ('ignored' in means) findings.push(notNeeded({ as, place }, means.ignored))
    else if (program.flags[means.flag]) seen.push({ as, flag: means.flag, place, ...variable })
    else findings.push(stopped({ as, place }, noSuchFlag(program)))
  }
  return { seen, findings, variables }
}

function variableOf(item: Located): Variable {
  const from = at(item, 'valueFrom')
  if (!from) return { text: textAt(item, 'value') ?? '' }
  for (const [field, kind] of [
    ['secretKeyRef', 'Secret'],
    ['configMapKeyRef', 'ConfigMap'],
  ] as const) {
    const ref = at(from, field)
    if (ref) return { heldBy: `${kind} ${textAt(ref, 'name') ?? '?'}, key ${textAt(ref, 'key') ?? '?'}` }
  }
  return { heldBy: 'a field of the pod' }
}

/** From a path in the container to the one on the host that is mounted there. */
function hostPathOf(container: Located, pod: Located | undefined): (path: string) => string {
  const volumes = new Map(itemsAt(pod, 'volumes').map((one) => [textAt(one, 'name'), textAt(one, 'hostPath', 'path')]))
  const mounts = itemsAt(container, 'volumeMounts')
    .map((one) => ({
      inside: (textAt(one, 'mountPath') ?? '').replace(/\/+$/, ''),
      outside: volumes.get(textAt(one, 'name'))?.replace(/\/+$/, ''),
    }))
    // The deepest mount hides those around it.
    .sort((a, b) => b.inside.length - a.inside.length)
  return (path) => {
    const mount = mounts.find(({ inside }) => path.startsWith(`${inside}/`))
    return mount?.outside === undefined ? path : `${mount.outside}${path.slice(mount.inside.length)}`
  }
}

function baseName(path: string): string {
  return path.split('/').at(-1) ?? path
}
