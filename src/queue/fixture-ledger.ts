import type { MaintenanceBudget, MaintenanceRequestStatus } from '../api/index.ts'
import { decideLedger, type LedgerWorld } from './decide-ledger.ts'
import { budget, condition, heldSlot, node, noon } from './fixture-world.ts'
import { openGates } from './obstacles.ts'

/** Three nodes, nobody in line, and nothing in the way. */
export const world = (parts: Partial<LedgerWorld>): LedgerWorld => ({
  budget: budget(),
  requests: [],
  nodes: [node('a'), node('b'), node('c')],
  gates: openGates,
  now: noon,
  ...parts,
})

export const claimed = (parts: Partial<LedgerWorld>) =>
  decideLedger(world(parts)).claims.map(({ request: name }) => name)

export const queued = { phase: 'Queued' } as const
export const granted = (token: number) => ({ phase: 'Granted', slot: heldSlot(token) }) as const
export const finishing = (token: number) => ({ phase: 'Finishing', slot: heldSlot(token) }) as const
export const worked = (token: number): MaintenanceRequestStatus => ({
  phase: 'Finishing',
  since: noon,
  slot: heldSlot(token),
  conditions: [condition('PermissionGiven')],
})

export const inMs = (ms: number) => new Date(Date.parse(noon) + ms).toISOString()

export const conditionOf = ({ next }: { readonly next: MaintenanceBudget['status'] }, type: string) =>
  next?.conditions?.find((one) => one.type === type)
