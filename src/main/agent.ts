import { pino } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import { maintenanceRequests } from '../api/index.ts'
import type { AgentSettings } from '../cli/index.ts'
import { connect, loadConfig, SharedCaches } from '../kube/index.ts'
import { startHttp } from '../server/index.ts'

/** The agent of one node: it follows the requests for its node, by one watch, and reports that it does. */
export async function runAgent(settings: AgentSettings, signal: AbortSignal): Promise<void> {
  const log = pino({ level: settings.logLevel, base: { program: 'agent', node: settings.nodeName } })
  const config = await loadConfig({
    ...(settings.kubeconfig ? { path: settings.kubeconfig } : {}),
    ...(settings.context ? { context: settings.context } : {}),
  })
  const client = connect(config, { component: 'agent', version: manifest.version })
  const caches = new SharedCaches({
    client,
    signal,
    onError: (error) =>
      log.warn({ why: error instanceof Error ? error.message : String(error) }, 'the watch was interrupted'),
  })
  const requests = caches.of({ resource: maintenanceRequests, fieldSelector: `spec.nodeName=${settings.nodeName}` })
  const http = await startHttp({
    host: settings.httpHost,
    port: settings.httpPort,
    notReady: () => (requests.isSynced ? [] : ['the requests for this node have not been read yet']),
    metrics: async () =>
      `# HELP fettle_agent_requests Open and finished requests for this node\n# TYPE fettle_agent_requests gauge\nfettle_agent_requests ${requests.size}\n`,
  })
  log.info({ version: manifest.version, port: http.port }, 'started')
  try {
    await requests.waitForSync(signal)
    log.info({ requests: requests.size }, 'following the requests for this node')
    await requests.ended
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await http.close()
    client.close()
    log.info({}, 'stopped')
  }
}
