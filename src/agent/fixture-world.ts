import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import type { AgentWorld } from './decide-agent.ts'
import type { HostView } from './host-view.ts'
import type { Permission } from './permission.ts'

/** Worlds for tests: a quiet machine with contact, and only what a test says is out of the ordinary. */

export const node = { name: 'n1', uid: 'uid-n1' }
export const requestFile = '/var/maintenance-required'

export const quietView: HostView = {
  request: { is: 'Absent' },
  permission: { is: 'Absent' },
  scripts: [],
  onlyScriptsAsk: true,
  reboot: { is: 'Absent' },
  bootID: 'boot-1',
  highestToken: 0,
  isToldToReboot: false,
  rebootsLastDay: 0,
}

export const present = (id = '7:100') => ({ is: 'Present', id }) as const

export function permission(more: Partial<Permission> = {}): HostView['permission'] {
  const content = {
    request: 'n1-file-0',
    requestUID: 'uid-n1-file-0',
    nodeUID: node.uid,
    token: 5,
    bootID: 'boot-1',
    grantedAt: '2026-03-01T12:00:00.000Z',
    ...more,
  }
  return { is: 'Present', content }
}

export const rebootNeeded = { is: 'Present', id: '9:1', key: '/var/run/reboot-required', reason: 'libc6' } as const

export function world(view: Partial<HostView> = {}, requests: readonly MaintenanceRequest[] = []): AgentWorld {
  const whole = { ...quietView, ...view }
  const highest = Math.max(0, ...requests.map(({ status }) => status?.host?.tokens?.highest ?? 0))
  return {
    node,
    rules: { requestFile, mayReboot: true, maxRebootsPerDay: 5 },
    view: { ...whole, highestToken: view.highestToken ?? highest },
    requests,
    hasContact: true,
    failures: new Map(),
    ordered: new Map(),
  }
}

export type Status = Partial<MaintenanceRequestStatus>

export function request(
  name: string,
  status: Status = {},
  spec: Partial<MaintenanceRequest['spec']> = {},
  metadata: Partial<MaintenanceRequest['metadata']> = {},
): MaintenanceRequest {
  return {
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: {
      nodeName: node.name,
      nodeUID: node.uid,
      source: { kind: 'File', key: requestFile },
      reason: 'test',
      want: 'Out',
      priority: 0,
      work: 'Host',
      service: { cordon: true, drain: true },
      ...spec,
    },
    status: { phase: 'Queued', since: '2026-03-01T12:00:00Z', ...status },
  }
}

export const slot = (token = 5) => ({ token, ledgerUID: 'l', takenAt: '2026-03-01T12:00:00Z' })

export const rebootSpec = { source: { kind: 'Reboot', key: '/var/run/reboot-required' }, work: 'Reboot' } as const
