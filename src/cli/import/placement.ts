import { type AgentValues, carried, differs, type Finding, notNeeded, stopped } from './finding.ts'
import { entryOf, isEmpty, type Located, type LocatedEntry } from './located.ts'

export interface Placement {
  readonly agent: AgentValues
  readonly findings: readonly Finding[]
}

/** On which nodes the pods ran: where there was no pod, nothing was rebooted, and so it has to stay. */
export function readPlacement(from: Located | undefined, file: string, prefix: string): Placement {
  const findings: Finding[] = []
  const subject = (entry: LocatedEntry) => ({ as: `${prefix}${entry.key}`, place: { file, line: entry.line } })
  const selector = entryOf(from, 'nodeSelector')
  const labels = selector ? labelsOf(selector.value) : {}
  if (selector && !isEmpty(selector.value)) {
    const wanted = Object.keys(labels).join(', ')
    findings.push(
      wanted === ''
        ? notNeeded(subject(selector), 'agents run on Linux alone anyway')
        : carried(subject(selector), `agent.nodeSelector (${wanted})`),
    )
  }
  const tolerations = entryOf(from, 'tolerations')
  if (tolerations && !isEmpty(tolerations.value))
    findings.push(
      differs(
        subject(tolerations),
        'an agent runs on every node whatever its taints; agent.nodeSelector keeps it away from some',
      ),
    )
  const affinity = entryOf(from, 'affinity')
  if (affinity && !isEmpty(affinity.value))
    findings.push(
      stopped(subject(affinity), 'agents are kept to some nodes by labels alone; write agent.nodeSelector by hand'),
    )
  return { agent: Object.keys(labels).length > 0 ? { nodeSelector: labels } : {}, findings }
}

function labelsOf(selector: Located): Readonly<Record<string, string>> {
  if (selector.kind !== 'map') return {}
  const pairs = selector.entries.flatMap(({ key, value }) =>
    value.kind === 'scalar' && !(key === 'kubernetes.io/os' && value.text === 'linux')
      ? [[key, value.text] as const]
      : [],
  )
  return Object.fromEntries(pairs)
}
