import { pino } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import { commandsOfHost, type HostView, identityOf, LinuxHost, runAgent, unreadableParts } from '../agent/index.ts'
import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import type { AgentSettings } from '../cli/index.ts'
import { connect, loadConfig, SharedCaches } from '../kube/index.ts'
import { startHttp } from '../server/index.ts'
import { systemClock } from '../time/index.ts'
import { agentMetrics } from './agent-metrics.ts'

/** The agent of one node: it follows the requests for its node, by one watch, and touches files and processes only. */
export async function startAgent(settings: AgentSettings, signal: AbortSignal): Promise<void> {
  const config = await loadConfig({
    ...(settings.kubeconfig ? { path: settings.kubeconfig } : {}),
    ...(settings.context ? { context: settings.context } : {}),
  })
  const { token } = await config.credentials.current(signal)
  const node = identityOf(token?.reveal() ?? '')
  const log = pino({ level: settings.logLevel, base: { program: 'agent', node: node.name } })
  const client = connect(config, { component: 'agent', version: manifest.version })
  const caches = new SharedCaches({
    client,
    signal,
    onError: (error) =>
      log.warn({ why: error instanceof Error ? error.message : String(error) }, 'the watch was interrupted'),
  })
  const requests = caches.of<MaintenanceRequest>({
    resource: maintenanceRequests,
    fieldSelector: `spec.nodeName=${node.name}`,
  })
  const seen: { view?: HostView; why?: string } = {}
  const acts = new Map<string, number>()
  const http = await startHttp({
    host: settings.httpHost,
    port: settings.httpPort,
    notReady: () => [
      ...(requests.isSynced ? [] : ['the requests for this node have not been read yet']),
      ...(seen.view ? unreadableParts(seen.view) : [seen.why ?? 'the machine has not been looked at yet']),
    ],
    metrics: async () =>
      agentMetrics({ node: node.name, requests, view: seen.view, acts, isKured: settings.kuredMetric }),
  })
  log.info({ version: manifest.version, port: http.port, nodeUID: node.uid }, 'started')
  const { host: hostSettings } = settings
  const commands = commandsOfHost(Object.keys(hostSettings.mounts).length === 0)
  const host = new LinuxHost(hostSettings, commands, systemClock)
  try {
    // Scripts that make the file by hand need no helper, so an agent without it still serves.
    await host
      .installScript()
      .catch((error: unknown) => log.warn({ why: String(error) }, 'the helper for scripts could not be written'))
    await requests.waitForSync(signal)
    log.info({ requests: requests.size }, 'following the requests for this node')
    await runAgent(
      {
        node,
        rules: {
          requestFile: hostSettings.requestFile,
          mayReboot: hostSettings.reboot.method !== 'none',
          maxRebootsPerDay: settings.maxRebootsPerDay,
        },
        host,
        client,
        requests,
        clock: systemClock,
        pollMs: settings.pollMs,
        log,
        onLook: (view, why) => {
          delete seen.view
          Object.assign(seen, { why, ...(view ? { view } : {}) })
        },
        onAct: ({ do: act }) => acts.set(act, (acts.get(act) ?? 0) + 1),
      },
      signal,
    )
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await http.close()
    client.close()
    log.info({}, 'stopped')
  }
}
