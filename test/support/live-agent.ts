import { type AgentHost, type AgentIdentity, runAgent } from '../../src/agent/index.ts'
import { type MaintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import { type KubeClient, ResourceCache } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { type Interceptor, interceptWrites } from './intercepted-client.ts'

/** One life of an agent, with somebody at the door for whatever it does. */
export async function liveOnce(
  admin: KubeClient,
  node: AgentIdentity,
  host: AgentHost,
  around: Interceptor,
  signal: AbortSignal,
): Promise<void> {
  const client: KubeClient = {
    ...interceptWrites(admin, around),
    get: async (resource, ref, options) => {
      signal.throwIfAborted()
      return admin.get(resource, ref, options)
    },
  }
  const requests = new ResourceCache<MaintenanceRequest>({
    client: admin,
    resource: maintenanceRequests,
    fieldSelector: `spec.nodeName=${node.name}`,
    signal,
  })
  try {
    await requests.waitForSync(signal)
  } catch {
    return
  }
  const ports = {
    node,
    rules: { requestFile: '/var/maintenance-required', mayReboot: true, maxRebootsPerDay: 10_000 },
    host: interceptActs(host, around, signal),
    client,
    requests,
    clock: systemClock,
    pollMs: 1_000,
    log: { info: () => undefined, warn: () => undefined },
  }
  await runAgent(ports, signal)
}

function interceptActs(host: AgentHost, around: Interceptor, signal: AbortSignal): AgentHost {
  return {
    look: async () => {
      signal.throwIfAborted()
      return host.look()
    },
    watch: (onChange, until) => host.watch(onChange, until),
    writePermission: (permission) => around('write the permission', () => host.writePermission(permission)),
    deletePermission: () => around('delete the permission', () => host.deletePermission()),
    storeHighestToken: (token) => around('keep the token', () => host.storeHighestToken(token)),
    reboot: () => around('reboot', () => host.reboot()),
  }
}
