import type { HostView } from '../agent/index.ts'

/** Where the figures of an agent come from. */
interface AgentMetricSources {
  readonly node: string
  readonly requests: { readonly size: number }
  readonly view: HostView | undefined
  readonly acts: ReadonlyMap<string, number>
  /** Whether kured's own metric is served for dashboards that know it. */
  readonly isKured: boolean
}

interface AgentMetric {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly help: string
  readonly labels: readonly string[]
  readonly values: (sources: AgentMetricSources) => readonly (readonly [Readonly<Record<string, string>>, number])[]
}

const states = ['Absent', 'Present', 'Unreadable'] as const

/** Every metric of the agent; the reference page is generated from this list. */
export const agentMetricDefinitions: readonly AgentMetric[] = [
  {
    name: 'fettle_agent_requests',
    type: 'gauge',
    help: 'Open and finished requests for this node',
    labels: [],
    values: ({ requests }) => [[{}, requests.size]],
  },
  {
    name: 'fettle_agent_file',
    type: 'gauge',
    help: '1 for the state that the file, or the need to reboot, is in',
    labels: ['file', 'state'],
    values: ({ view }) =>
      (['request', 'permission', 'reboot'] as const).flatMap((file) =>
        states.map((state) => [{ file, state }, (view?.[file].is ?? 'Unreadable') === state ? 1 : 0] as const),
      ),
  },
  {
    name: 'fettle_agent_acts_total',
    type: 'counter',
    help: 'What the agent did',
    labels: ['act'],
    values: ({ acts }) => [...acts].map(([act, count]) => [{ act }, count] as const),
  },
  {
    name: 'kured_reboot_required',
    type: 'gauge',
    help: 'With --kured-metric: whether the node needs a reboot, as kured says it',
    labels: ['node'],
    values: ({ isKured, node, view }) => (isKured ? [[{ node }, view?.reboot.is === 'Present' ? 1 : 0]] : []),
  },
]

/** Prometheus text. A library for this would cost more memory than the rest of the agent's figures. */
export function agentMetrics(sources: AgentMetricSources): string {
  return agentMetricDefinitions
    .map(({ name, type, help, values }) => {
      const lines = values(sources).map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`)
      return lines.length > 0 ? `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}` : ''
    })
    .join('')
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}
