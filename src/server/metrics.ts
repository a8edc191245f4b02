import { Gauge, Registry } from 'prom-client'
import { budgetName } from '../api/index.ts'
import type { RequestCounters, SharedCaches } from '../kube/index.ts'
import type { NotifyCount } from '../notify/index.ts'
import type { QueueViews } from '../queue/index.ts'

/** Where the figures come from. Gauges are filled when somebody asks, so that nobody asking costs nothing. */
export interface MetricSources {
  readonly views: QueueViews
  readonly caches: SharedCaches
  readonly isLeader: () => boolean
  readonly requests: () => RequestCounters
  readonly notifications: () => readonly NotifyCount[]
}

interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly fill: (gauge: Gauge, sources: MetricSources) => void
}

/** Every metric of the controller; the reference page is generated from this list. */
export const metricDefinitions: readonly MetricDefinition[] = [
  {
    name: 'fettle_leader',
    help: '1 while this process is the leader',
    labels: [],
    fill: (gauge, { isLeader }) => gauge.set(isLeader() ? 1 : 0),
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
  return () => registry.metrics()
}
