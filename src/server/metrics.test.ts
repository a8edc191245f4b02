import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest } from '../api/index.ts'
import {
  counterDefinitions,
  type MetricSources,
  metricDefinitions,
  metricsText,
  type ProfileFigures,
} from './metrics.ts'

interface Figures {
  requests: { readonly status?: object }[]
  budget: object | undefined
  isLeader: boolean
}

/** Only what the metrics read. */
function sources(figures: Figures): MetricSources {
  const cache = { stats: () => ({ lastContactAgeMs: 1_500 }), size: 12 }
  return {
    views: {
      requests: { values: () => (figures.requests as MaintenanceRequest[]).values() },
      budgets: { get: () => figures.budget as MaintenanceBudget | undefined },
    },
    caches: { all: () => new Map([['v1/pods', cache]]) },
    isLeader: () => figures.isLeader,
    requests: () => ({
      requests: { 'GET pods 200': 2, 'GET nodes 200': 1, 'PATCH nodes/status 409': 4, 'GET nodes none': 1 },
    }),
    notifications: () => [],
    profiles: () => undefined,
  } as unknown as MetricSources
}

const busy: Figures = {
  requests: [
    { status: { phase: 'Granted', history: [{ reason: 'WindowBypassed' }] } },
    { status: { phase: 'Queued' } },
    { status: { phase: 'Queued' } },
    {},
  ],
  budget: {
    status: { slots: [{}, {}], limits: [{ name: 'cluster', max: 3, out: 2, withoutSlot: [] }] },
  },
  isLeader: true,
}

/** Without what the test itself costs. */
const steady = (text: string) => text.replace(/^(process_\w+) [\d.]+$/gm, '$1 number')

test('every figure is told', async () => {
  const text = await metricsText(sources(busy))()
  // Each Node brings its own.
  expect(steady(text).replace(/version="[^"]+"/, 'version="any"')).toMatchInlineSnapshot(`
    "# HELP fettle_leader 1 while this process is the leader
    # TYPE fettle_leader gauge
    fettle_leader 1

    # HELP leader_election_master_status 1 while this process leads in place of maintenance-controller, by the lease that it holds
    # TYPE leader_election_master_status gauge

    # HELP process_resident_memory_bytes Memory of this process
    # TYPE process_resident_memory_bytes gauge
    process_resident_memory_bytes number

    # HELP process_start_time_seconds When this process began, in seconds since 1970
    # TYPE process_start_time_seconds gauge
    process_start_time_seconds number

    # HELP fettle_time_zone_data_info Always 1; the label has the version of the zone data that windows are computed with
    # TYPE fettle_time_zone_data_info gauge
    fettle_time_zone_data_info{version="any"} 1

    # HELP fettle_maintenance_requests MaintenanceRequests by phase
    # TYPE fettle_maintenance_requests gauge
    fettle_maintenance_requests{phase="Granted"} 1
    fettle_maintenance_requests{phase="Queued"} 2
    fettle_maintenance_requests{phase="New"} 1

    # HELP fettle_window_bypasses MaintenanceRequests that went outside their windows, because a person said so (spec.bypassWindow); kept as long as they are
    # TYPE fettle_window_bypasses gauge
    fettle_window_bypasses 1

    # HELP fettle_slots_held Nodes that hold a slot of the budget
    # TYPE fettle_slots_held gauge
    fettle_slots_held 2

    # HELP fettle_nodes_out Nodes that count as out of service, with or without a slot
    # TYPE fettle_nodes_out gauge
    fettle_nodes_out{limit="cluster"} 2

    # HELP fettle_nodes_out_max Nodes that may be out of service at once
    # TYPE fettle_nodes_out_max gauge
    fettle_nodes_out_max{limit="cluster"} 3

    # HELP fettle_cache_contact_age_seconds Time since the API server was last heard of, by watched collection
    # TYPE fettle_cache_contact_age_seconds gauge
    fettle_cache_contact_age_seconds{collection="v1/pods"} 1.5

    # HELP fettle_cache_objects Objects held in memory, by watched collection
    # TYPE fettle_cache_objects gauge
    fettle_cache_objects{collection="v1/pods"} 12

    # HELP fettle_notifications Notifications since the process began, by result: sent or failed
    # TYPE fettle_notifications gauge

    # HELP fettle_profile_nodes Nodes by profile and state
    # TYPE fettle_profile_nodes gauge

    # HELP fettle_profile_overdue Nodes on which a profile has stayed longer in its state than its deadline
    # TYPE fettle_profile_overdue gauge

    # HELP fettle_profile_drains_overdue Nodes that the drain of a profile did not get empty within evictionTimeout and deletionTimeout
    # TYPE fettle_profile_drains_overdue gauge

    # HELP fettle_profiles_active 1 while profiles act in this process; 0 in one that does not lead, waits for the lease of maintenance-controller, or makes a dry run
    # TYPE fettle_profiles_active gauge
    fettle_profiles_active 0

    # HELP fettle_profiles_file_current 1 while the file of profiles is in force as it is; 0 while an older version is, because it cannot be read
    # TYPE fettle_profiles_file_current gauge
    fettle_profiles_file_current 0

    # HELP fettle_profiles_file_problems What is wrong or odd in the file of profiles
    # TYPE fettle_profiles_file_problems gauge

    # HELP process_cpu_seconds_total CPU time of this process, in user and system mode
    # TYPE process_cpu_seconds_total counter
    process_cpu_seconds_total number

    # HELP fettle_api_requests_total Requests to the API server, retries included, by the code of the answer; none if none came
    # TYPE fettle_api_requests_total counter
    fettle_api_requests_total{method="GET",code="200"} 3
    fettle_api_requests_total{method="PATCH",code="409"} 4
    fettle_api_requests_total{method="GET",code="none"} 1

    # HELP maintenance_controller_pod_shuffle_count Pods on nodes that a profile took into maintenance, by owner
    # TYPE maintenance_controller_pod_shuffle_count counter

    # HELP maintenance_controller_pod_shuffles_per_replica The same, as a part of the owner's replicas
    # TYPE maintenance_controller_pod_shuffles_per_replica counter

    # HELP maintenance_controller_transition_failure_count Looks at a node on which a profile failed
    # TYPE maintenance_controller_transition_failure_count counter

    # HELP fettle_profile_pod_shuffles Pods on nodes that a profile took into maintenance, by owner and namespace
    # TYPE fettle_profile_pod_shuffles counter

    # HELP fettle_profile_transitions Changes of state that were stored, by the new state
    # TYPE fettle_profile_transitions counter

    # HELP fettle_profile_messages_not_sent Failed tries to send a message of a profile
    # TYPE fettle_profile_messages_not_sent counter
    "
  `)
})

test('a phase that nobody is in any more, and a ledger that is gone, leave no figures behind', async () => {
  const figures = { ...busy }
  const text = metricsText(sources(figures))
  await text()
  figures.requests = []
  figures.budget = undefined
  figures.isLeader = false
  const after = await text()
  expect(after).not.toContain('phase=')
  expect(after).not.toContain('limit=')
  expect(after).toContain('fettle_leader 0\n')
  expect(after).toContain('fettle_slots_held 0\n')
})

test('names and units follow the rules of Prometheus, and each is explained once', () => {
  const names = metricDefinitions.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, help } of metricDefinitions) {
    expect(name).toMatch(/^(fettle|process|leader_election)_[a-z_]+$/)
    expect(name).not.toMatch(/_total$/)
    expect(help).not.toBe('')
  }
})

test('every metric that is served is in the reference, with its type', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8')
  const served = [...(await metricsText(sources(busy))()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  expect(served).toHaveLength(metricDefinitions.length + counterDefinitions.length)
  for (const [, name, type] of served) expect(page).toContain(`| \`${name}\` | ${type} |`)
})

const noProfiles: ProfileFigures = {
  failures: [],
  shuffles: [],
  shufflesPerReplica: [],
  transitions: [],
  notSent: [],
  overdue: [],
  overdueDrains: [],
  nodes: [],
  isActive: false,
  lease: 'the-lease',
  isFileCurrent: true,
  fileProblems: [],
}

test('a figure that is no number is left out, and all others are told', async () => {
  const part = (owner: string, value: number) => ({ labels: { owner, profile: 'p', namespace: 'a' }, value })
  const shufflesPerReplica = [part('none', Infinity), part('odd', Number.NaN), part('web', 0.5)]
  const text = await metricsText({ ...sources(busy), profiles: () => ({ ...noProfiles, shufflesPerReplica }) })()
  expect(text.match(/^maintenance_controller_pod_shuffles_per_replica.*$/gm)).toEqual([
    'maintenance_controller_pod_shuffles_per_replica{owner="web",profile="p"} 0.5',
  ])
  expect(text).toContain('fettle_profiles_file_current 1\n')
})

test('drains that are no longer overdue, and profiles that no longer act, are told as such', async () => {
  let profiles: ProfileFigures = { ...noProfiles, overdueDrains: ['p', 'q', 'p'], isActive: true }
  const told = metricsText({ ...sources(busy), profiles: () => profiles })
  const before = await told()
  expect(before).toContain('fettle_profile_drains_overdue{profile="p"} 2\n')
  expect(before).toContain('fettle_profile_drains_overdue{profile="q"} 1\n')
  expect(before).toContain('fettle_profiles_active 1\n')
  expect(before).toContain('leader_election_master_status{name="the-lease"} 1\n')
  profiles = noProfiles
  const after = await told()
  expect(after).not.toContain('fettle_profile_drains_overdue{')
  expect(after).toContain('fettle_profiles_active 0\n')
  expect(after).toContain('leader_election_master_status{name="the-lease"} 0\n')
})

test('what profiles count is told under the names that dashboards know, and one series stands for all namespaces', async () => {
  const shuffle = (namespace: string, value: number) => ({
    labels: { owner: 'deployment_web', profile: 'p', namespace },
    value,
  })
  const profiles = {
    ...noProfiles,
    failures: [{ labels: { profile: 'p' }, value: 3 }],
    shuffles: [shuffle('a', 2), shuffle('b', 1)],
    shufflesPerReplica: [shuffle('a', 0.5), shuffle('b', 0.25)],
    transitions: [{ labels: { profile: 'p', state: 'operational' }, value: 4 }],
    overdue: ['p', 'p'],
    nodes: [{ profile: 'p', state: 'operational' }],
    isFileCurrent: false,
    fileProblems: [{ severity: 'error' }],
  }
  const told = metricsText({ ...sources(busy), profiles: () => profiles })
  const text = await told()
  for (const line of [
    '# TYPE maintenance_controller_pod_shuffle_count counter',
    'maintenance_controller_pod_shuffle_count{owner="deployment_web",profile="p"} 3',
    'maintenance_controller_pod_shuffles_per_replica{owner="deployment_web",profile="p"} 0.75',
    'maintenance_controller_transition_failure_count{profile="p"} 3',
    'fettle_profile_pod_shuffles{owner="deployment_web",namespace="b",profile="p"} 1',
    'fettle_profile_transitions{profile="p",state="operational"} 4',
    'fettle_profile_overdue{profile="p"} 2',
    'fettle_profile_nodes{profile="p",state="operational"} 1',
    'fettle_profiles_file_current 0',
    'fettle_profiles_file_problems{severity="error"} 1',
  ])
    expect(text).toContain(`${line}\n`)
  expect(steady(await told()), 'asking does not count').toBe(steady(text))
})
