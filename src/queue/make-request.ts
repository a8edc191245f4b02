import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { isAlreadyExists } from '../kube/index.ts'
import { controllerManager } from './names.ts'
import type { QueuePorts } from './ports.ts'

/** By name and never twice: who was here before a crash has made the same one. */
export async function makeRequest(
  { client }: Pick<QueuePorts, 'client'>,
  request: MaintenanceRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.create(maintenanceRequests, request, { fieldManager: controllerManager, signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}
