import { Counter, Gauge, Registry } from 'prom-client'
import { budgetName, type MaintenanceRequest } from '../api/index.ts'
import type { RequestCounters, SharedCaches } from '../kube/index.ts'
import type { NotifyCount } from '../notify/index.ts'
import { type QueueViews, windowBypassed } from '../queue/index.ts'

/** Where the figures come from. Gauges are filled when somebody asks, so that nobody asking costs nothing. */
export interface MetricSources {
  readonly views: QueueViews
  readonly caches: SharedCaches
  readonly isLeader: () => boolean
  readonly requests: () => RequestCounters
  readonly notifications: () => readonly NotifyCount[]
  /** Nothing while no file of profiles is in use. */
  readonly profiles: () => ProfileFigures | undefined
}

interface Figure {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What profiles count and are. */
export interface ProfileFigures {
  readonly failures: readonly Figure[]
  readonly shuffles: readonly Figure[]
  readonly shufflesPerReplica: readonly Figure[]
  readonly transitions: readonly Figure[]
  readonly notSent: readonly Figure[]
  /** A profile for each node on which it has stayed too long in its state. */
  readonly overdue: readonly string[]
  /** A profile for each node that its drain does not get empty in time. */
  readonly overdueDrains: readonly string[]
  /** They act in this process, now. */
  readonly isActive: boolean
  /** The lease of maintenance-controller that is held meanwhile. */
  readonly lease: string
  readonly nodes: readonly { readonly profile: string; readonly state: string }[]
  readonly isFileCurrent: boolean
  readonly fileProblems: readonly { readonly severity: string }[]
}

interface CounterDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly counts: (sources: MetricSources) => readonly Figure[]
}

const ofProfiles =
  (counts: (figures: ProfileFigures) => readonly Figure[]): CounterDefinition['counts'] =>
  ({ profiles }) => {
    const figures = profiles()
    return figures ? counts(figures) : []
  }

/** Those of maintenance-controller, and of every process, have the names and labels that dashboards know. */
export const counterDefinitions: readonly CounterDefinition[] = [
  {
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process, in user and system mode',
    labels: [],
    counts: () => {
      const { user, system } = process.cpuUsage()
      return [{ labels: {}, value: (user + system) / 1e6 }]
    },
  },
  {
    name: 'fettle_api_requests_total',
    help: 'Requests to the API server, retries included, by the code of the answer; none if none came',
    labels: ['method', 'code'],
    // By resource as well they would be several hundred series.
    counts: ({ requests }) =>
      Object.entries(requests().requests).map(([key, value]) => {
        const [method = '', , code = ''] = key.split(' ')
        return { labels: { method, code }, value }
      }),
  },
  {
    name: 'maintenance_controller_pod_shuffle_count',
    help: 'Pods on nodes that a profile took into maintenance, by owner',
    labels: ['owner', 'profile'],
    counts: ofProfiles(({ shuffles }) => shuffles),
  },
  {
    name: 'maintenance_controller_pod_shuffles_per_replica',
    help: "The same, as a part of the owner's replicas",
    labels: ['owner', 'profile'],
    counts: ofProfiles(({ shufflesPerReplica }) => shufflesPerReplica),
  },
  {
    name: 'maintenance_controller_transition_failure_count',
    help: 'Looks at a node on which a profile failed',
    labels: ['profile'],
    counts: ofProfiles(({ failures }) => failures),
  },
  {
    name: 'fettle_profile_pod_shuffles',
    help: 'Pods on nodes that a profile took into maintenance, by owner and namespace',
    labels: ['owner', 'namespace', 'profile'],
    counts: ofProfiles(({ shuffles }) => shuffles),
  },
  {
    name: 'fettle_profile_transitions',
    help: 'Changes of state that were stored, by the new state',
    labels: ['profile', 'state'],
    counts: ofProfiles(({ transitions }) => transitions),
  },
  {
    name: 'fettle_profile_messages_not_sent',
    help: 'Failed tries to send a message of a profile',
    labels: ['profile', 'instance'],
    counts: ofProfiles(({ notSent }) => notSent),
  },
]

interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly fill: (gauge: Gauge, sources: MetricSources) => void
}

/** Every gauge of the controller; the reference page is generated from this list and the one above. */
export const metricDefinitions: readonly MetricDefinition[] = [
  {
    name: 'fettle_leader',
    help: '1 while this process is the leader',
    labels: [],
    fill: (gauge, { isLeader }) => gauge.set(isLeader() ? 1 : 0),
  },
  {
    name: 'leader_election_master_status',
    help: '1 while this process leads in place of maintenance-controller, by the lease that it holds',
    labels: ['name'],
    fill: (gauge, { profiles }) => {
      const figures = profiles()
      if (figures) gauge.set({ name: figures.lease }, figures.isActive ? 1 : 0)
    },
  },
  {
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process',
    labels: [],
    fill: (gauge) => gauge.set(process.memoryUsage.rss()),
  },
  {
    name: 'process_start_time_seconds',
    help: 'When this process began, in seconds since 1970',
    labels: [],
    fill: (gauge) => gauge.set(Math.round(performance.timeOrigin / 1000)),
  },
  {
    name: 'fettle_time_zone_data_info',
    help: 'Always 1; the label has the version of the zone data that windows are computed with',
    labels: ['version'],
    fill: (gauge) => gauge.set({ version: process.versions.tz ?? 'unknown' }, 1),
  },
  {
    name: 'fettle_maintenance_requests',
    help: 'MaintenanceRequests by phase',
    labels: ['phase'],
    fill: (gauge, { views }) => {
      gauge.reset()
      for (const request of views.requests.values()) gauge.inc({ phase: request.status?.phase ?? 'New' })
    },
  },
  {
    name: 'fettle_window_bypasses',
    help: 'MaintenanceRequests that went outside their windows, because a person said so (spec.bypassWindow); kept as long as they are',
    labels: [],
    fill: (gauge, { views }) => {
      const isPast = ({ status }: MaintenanceRequest) =>
        status?.history?.some(({ reason }) => reason === windowBypassed)
      gauge.set([...views.requests.values()].filter(isPast).length)
    },
  },
  {
    name: 'fettle_slots_held',
    help: 'Nodes that hold a slot of the budget',
    labels: [],
    fill: (gauge, { views }) => gauge.set(views.budgets.get({ name: budgetName })?.status?.slots.length ?? 0),
  },
  {
    name: 'fettle_nodes_out',
    help: 'Nodes that count as out of service, with or without a slot',
    labels: ['limit'],
    fill: (gauge, { views }) => {
      gauge.reset()
      for (const { name, out } of views.budgets.get({ name: budgetName })?.status?.limits ?? [])
        gauge.set({ limit: name }, out)
    },
  },
  {
    name: 'fettle_nodes_out_max',
    help: 'Nodes that may be out of service at once',
    labels: ['limit'],
    fill: (gauge, { views }) => {
      gauge.reset()
      for (const { name, max } of views.budgets.get({ name: budgetName })?.status?.limits ?? [])
        gauge.set({ limit: name }, max)
    },
  },
  {
    name: 'fettle_cache_contact_age_seconds',
    help: 'Time since the API server was last heard of, by watched collection',
    labels: ['collection'],
    fill: (gauge, { caches }) => {
      for (const [collection, cache] of caches.all())
        gauge.set({ collection }, (cache.stats().lastContactAgeMs ?? 0) / 1000)
    },
  },
  {
    name: 'fettle_cache_objects',
    help: 'Objects held in memory, by watched collection',
    labels: ['collection'],
    fill: (gauge, { caches }) => {
      for (const [collection, cache] of caches.all()) gauge.set({ collection }, cache.size)
    },
  },
  {
    name: 'fettle_notifications',
    help: 'Notifications since the process began, by result: sent or failed',
    labels: ['notification', 'result'],
    fill: (gauge, { notifications }) => {
      gauge.reset()
      for (const { notification, result, count } of notifications()) gauge.set({ notification, result }, count)
    },
  },
  {
    name: 'fettle_profile_nodes',
    help: 'Nodes by profile and state',
    labels: ['profile', 'state'],
    fill: (gauge, { profiles }) => {
      gauge.reset()
      for (const { profile, state } of profiles()?.nodes ?? []) gauge.inc({ profile, state })
    },
  },
  {
    name: 'fettle_profile_overdue',
    help: 'Nodes on which a profile has stayed longer in its state than its deadline',
    labels: ['profile'],
    fill: (gauge, { profiles }) => {
      gauge.reset()
      for (const profile of profiles()?.overdue ?? []) gauge.inc({ profile })
    },
  },
  {
    name: 'fettle_profile_drains_overdue',
    help: 'Nodes that the drain of a profile did not get empty within evictionTimeout and deletionTimeout',
    labels: ['profile'],
    fill: (gauge, { profiles }) => {
      gauge.reset()
      for (const profile of profiles()?.overdueDrains ?? []) gauge.inc({ profile })
    },
  },
  {
    name: 'fettle_profiles_active',
    help: '1 while profiles act in this process; 0 in one that does not lead, waits for the lease of maintenance-controller, or makes a dry run',
    labels: [],
    fill: (gauge, { profiles }) => gauge.set(profiles()?.isActive ? 1 : 0),
  },
  {
    name: 'fettle_profiles_file_current',
    help: '1 while the file of profiles is in force as it is; 0 while an older version is, because it cannot be read',
    labels: [],
    fill: (gauge, { profiles }) => {
      const figures = profiles()
      if (figures) gauge.set(figures.isFileCurrent ? 1 : 0)
    },
  },
  {
    name: 'fettle_profiles_file_problems',
    help: 'What is wrong or odd in the file of profiles',
    labels: ['severity'],
    fill: (gauge, { profiles }) => {
      gauge.reset()
      for (const { severity } of profiles()?.fileProblems ?? []) gauge.inc({ severity })
    },
  },
]

export function metricsText(sources: MetricSources): () => Promise<string> {
  const registry = new Registry()
  for (const { name, help, labels, fill } of metricDefinitions)
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        fill(this, sources)
      },
    })
  for (const { name, help, labels, counts } of counterDefinitions)
    new Counter({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        this.reset()
        for (const figure of counts(sources)) {
          // It would be refused, and with it all that is told here.
          if (!Number.isFinite(figure.value)) continue
          // Several namespaces may be one series.
          this.inc(Object.fromEntries(labels.map((label) => [label, figure.labels[label] ?? ''])), figure.value)
        }
      },
    })
  return () => registry.metrics()
}
