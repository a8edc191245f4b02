import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'

/** A request for tests: small, valid, and only what a test says is out of the ordinary. */
export function request(
  status: Partial<MaintenanceRequestStatus> = {},
  more: { readonly name?: string; readonly spec?: Partial<MaintenanceRequest['spec']> } = {},
): MaintenanceRequest {
  const { name = 'node-7-person-x4k2p', spec = {} } = more
  return {
    metadata: { name, uid: `uid-${name}` },
    spec: {
      nodeName: 'node-7',
      nodeUID: 'uid-node-7',
      source: { kind: 'Person', key: 'jdoe-at-example' },
      reason: 'new fan',
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...spec,
    },
    status: { phase: 'Queued', since: '2026-03-01T12:00:00.000Z', ...status },
  }
}
