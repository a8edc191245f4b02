import { describe, expect, test } from 'vitest'
import type { MaintenanceWindow, MaintenanceWindowStatus } from '../api/index.ts'
import { ApiError, type ConnectedClient, type KubeObject, type ListOptions, type Resource } from '../kube/index.ts'
import { readWorld } from './world.ts'

const at = '2026-12-25T03:00:00Z'

const budget = {
  metadata: { name: 'cluster', uid: 'ledger' },
  spec: { max: 5, controlPlaneMax: 1, countUnavailable: ['NotReady', 'Cordoned'], profiles: 'Off', onNodeLost: 'Hold' },
  status: {
    nextToken: 1,
    slots: [],
    conditions: [{ type: 'LedgerReady', status: 'True', reason: 'x', message: 'x', lastTransitionTime: at }],
  },
}

const node = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, labels },
  ...{ spec: {}, status: { conditions: [{ type: 'Ready', status: 'True' }] } },
})

const request = (nodeName: string, windows: readonly string[]): KubeObject => ({
  metadata: { name: 'r', uid: 'r', generation: 1, creationTimestamp: at, finalizers: ['fettle.dev/queue'] },
  ...{
    spec: {
      nodeName,
      nodeUID: `uid-${nodeName}`,
      source: { kind: 'Person', key: 'jdoe' },
      reason: 'fan',
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      windows,
    },
    status: { phase: 'Queued', history: [] },
  },
})

/** The controller has written into every window that it is open, and that its calendars can be read. */
const open: MaintenanceWindowStatus = {
  observedGeneration: 1,
  open: true,
  currentStart: '2026-12-25T02:00:00Z',
  currentEnd: '2026-12-25T06:00:00Z',
  conditions: [{ type: 'ExclusionSourceReady', status: 'True', reason: 'x', message: 'x', lastTransitionTime: at }],
}

const window = (
  name: string,
  spec: Partial<MaintenanceWindow['spec']> = {},
  status: MaintenanceWindowStatus = open,
): MaintenanceWindow => ({
  metadata: { name, uid: name, generation: 1 },
  spec: { timeZone: 'UTC', schedule: { cron: '0 2 * * *' }, duration: '4h', ...spec },
  status,
})

type Stored = Readonly<Record<string, readonly KubeObject[]>>

/** An API server that lets nobody read what it does not list. */
function serving(stored: Stored): ConnectedClient {
  const refuse = ({ plural }: Resource) =>
    new ApiError({ code: 'Forbidden', method: 'GET', path: `/${plural}`, seen: 'not for you', status: 403 })
  return {
    async get({ plural, ...resource }: Resource, { name }: { readonly name: string }) {
      const found = stored[plural]?.find(({ metadata }) => metadata.name === name)
      if (!found) throw refuse({ plural, ...resource })
      return found
    },
    async *list(resource: Resource, { fieldSelector }: ListOptions = {}) {
      const all = stored[resource.plural]
      if (!all) throw refuse(resource)
      const isMeant = ({ spec }: KubeObject & { readonly spec?: { readonly nodeName?: string } }) =>
        fieldSelector === undefined || fieldSelector === `spec.nodeName=${spec?.nodeName}`
      yield { items: all.filter(isMeant), resourceVersion: '1' }
    },
  } as unknown as ConnectedClient
}

async function waiting(
  windows: readonly MaintenanceWindow[],
  more: Stored = {},
  now: string = at,
): Promise<string | undefined> {
  const stored = {
    maintenancebudgets: [budget],
    maintenancerequests: [
      request(
        'a',
        windows.map(({ metadata }) => metadata.name ?? ''),
      ),
    ],
    nodes: [node('a')],
    maintenancewindows: windows,
    maintenancefreezes: [],
    daemonsets: [],
    ...more,
  }
  const { decision } = await readWorld(serving(stored), Date.parse(now))
  return decision.waiting.get('r')?.message
}

describe('a list of windows is seen as the controller sees it', () => {
  const holidays = [{ ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } }]
  const later = { schedule: { cron: '0 12 * * *' }, duration: '1h' }
  const closed: MaintenanceWindowStatus = {
    ...open,
    open: false,
    next: [{ start: '2026-12-25T12:00:00Z', end: '2026-12-25T13:00:00Z' }],
  }

  test('open while one of them is', async () => {
    expect(await waiting([window('nights'), window('noon', later, closed)])).toBeUndefined()
  })

  test('closed by what another one excludes', async () => {
    const careful = window('noon', { ...later, exclusions: [{ from: '2026-12-24', to: '2026-12-26' }] }, closed)
    expect(await waiting([window('nights'), careful])).toBe(
      'windows nights, noon are closed and open at 2026-12-27 02:00 UTC',
    )
  })

  test('closed when too little of it is left', async () => {
    expect(await waiting([window('nights', { minRemaining: '1h' })], {}, '2026-12-25T05:00:00Z')).toMatch(
      /^window nights is closed/,
    )
  })

  test('closed when one of them does not exist', async () => {
    const maintenancewindows = [window('nights')]
    expect(await waiting([window('nights'), window('holidays')], { maintenancewindows })).toMatch(
      /^MaintenanceWindow holidays does not exist/,
    )
  })

  test('closed by a calendar', async () => {
    const ics =
      'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x\r\nDTSTART;VALUE=DATE:20261225\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n'
    const configmaps = [{ metadata: { name: 'holidays' }, data: { 'cal.ics': ics } }]
    expect(await waiting([window('nights', { exclusions: holidays })], { configmaps })).toBe(
      'window nights is closed and opens at 2026-12-26 02:00 UTC',
    )
  })

  test('by what the controller wrote where the calendar may not be read', async () => {
    expect(await waiting([window('nights', { exclusions: holidays })])).toBeUndefined()
    expect(await waiting([window('noon', { ...later, exclusions: holidays }, closed)])).toBe(
      'window noon is closed and opens at 2026-12-25 12:00 UTC',
    )
    expect(await waiting([window('nights'), window('noon', { ...later, exclusions: holidays }, closed)])).toMatch(
      /^MaintenanceWindow noon names a calendar that you cannot read here/,
    )
  })
})

describe('a static pod of the control plane that is not Ready', () => {
  const role = { 'node-role.kubernetes.io/control-plane': '' }
  const pod = {
    metadata: { name: 'etcd-b', namespace: 'kube-system', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    spec: { nodeName: 'b' },
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  }
  const nodes = [node('a', role), node('b', role)]

  test('keeps the other control-plane nodes in line', async () => {
    expect(await waiting([], { nodes, pods: [pod] })).toContain('b is NotReady in etcd-b')
  })

  test('is not known to those who may not read pods, and they see the rest', async () => {
    expect(await waiting([], { nodes })).toBeUndefined()
  })
})
