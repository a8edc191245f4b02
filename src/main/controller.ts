import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import { blockerSecretName } from '../api/index.ts'
import type { ControllerSettings } from '../cli/index.ts'
import { offersEvictionRequest } from '../drain/index.ts'
import {
  connect,
  EventRecorder,
  fencedClient,
  loadConfig,
  runAsLeader,
  SharedCaches,
  secretKeys,
} from '../kube/index.ts'
import { NotifyCounts, runNotify } from '../notify/index.ts'
import { BlockerBoard, Heartbeats, openViews, openWindowViews, runQueue, runWindowStatus } from '../queue/index.ts'
import { metricsText } from '../server/index.ts'
import { systemClock } from '../time/index.ts'
import { obeyProxy } from './env-proxy.ts'
import { startListeners } from './listeners.ts'
import { Profiles } from './profiles.ts'

/** The controller: all replicas watch and answer, one of them leads and writes. Returns after a graceful stop. */
export async function runController(settings: ControllerSettings, signal: AbortSignal): Promise<void> {
  const log = pino({ level: settings.logLevel, base: { program: 'controller', instance: settings.identity } })
  obeyProxy(process.env, log)
  const client = connect(
    await loadConfig({
      ...(settings.kubeconfig ? { path: settings.kubeconfig } : {}),
      ...(settings.context ? { context: settings.context } : {}),
    }),
    { component: 'controller', version: manifest.version },
  )
  const caches = new SharedCaches({
    client,
    signal,
    onError: (error, { resource }) =>
      log.warn({ collection: resource.plural, why: messageOf(error) }, 'a watch was interrupted'),
  })
  const views = openViews(caches)
  const windows = openWindowViews(caches, { client, namespace: settings.namespace, signal })
  const { httpTokenFile: tokenFile } = settings
  const token = tokenFile === undefined ? undefined : () => readFile(tokenFile, 'utf8')
  let leaderToken: number | undefined
  let hasEnded = false
  const leader = { isHere: () => leaderToken !== undefined, token }
  const profiles =
    settings.profiles === undefined
      ? undefined
      : new Profiles(settings.profiles, settings, { client, caches, views, windows, log, signal, leader })
  const notifyCounts = new NotifyCounts()
  const figures = metricsText({
    views,
    caches,
    isLeader: leader.isHere,
    requests: () => client.counters(),
    notifications: () => notifyCounts.all(),
    profiles: () => profiles?.figures(),
  })
  /** Aborts when somebody has the figures of the end. */
  const fetched = new AbortController()
  const pages = {
    notReady: () =>
      [...caches.all()].flatMap(([key, cache]) => (cache.isSynced ? [] : [`the first list of ${key} is not complete`])),
    remarks: () => profiles?.problems() ?? [],
    metrics: async () => {
      const text = await figures()
      if (hasEnded) fetched.abort()
      return text
    },
    ...(profiles ? { info: (isForwarded: boolean) => profiles.info(isForwarded) } : {}),
    ...(token ? { token } : {}),
  }
  const { httpHost: host, httpPort: port, metricsAddress, healthAddress } = settings
  const places = [{ host, port }, ...[metricsAddress, healthAddress].flatMap((place) => place ?? [])]
  const listeners = await startListeners(places, pages, log)
  log.info({ version: manifest.version, port: listeners[0]?.port }, 'started')
  try {
    await caches.waitForSync(signal)
    await runAsLeader(
      {
        client,
        clock: systemClock,
        random: Math.random,
        lease: { namespace: settings.namespace, name: settings.leaseName },
        identity: settings.identity,
        ...leaseTimes(settings.leaseSeconds),
        signal,
        onEvent: (event) => {
          if (event.type === 'trouble')
            log.warn({ why: messageOf(event.error) }, 'the leader lease could not be read or written')
          else if (event.type === 'waits') {
            // A lease that is new has no holder, and is worth no line.
            if (event.holder !== '') log.info({ leader: event.holder }, 'somebody else leads')
          } else
            log.info(
              { token: event.token, ...(event.type === 'ended' ? { why: messageOf(event.reason) } : {}) },
              `leadership ${event.type}`,
            )
        },
      },
      async (term) => {
        leaderToken = term.token
        const fenced = fencedClient(client, term)
        const recorder = new EventRecorder({
          client: fenced,
          clock: systemClock,
          random: Math.random,
          reportingController: 'fettle.dev/controller',
          reportingInstance: settings.identity,
        })
        const stop = AbortSignal.any([term.signal, signal])
        try {
          const doors = { client: fenced, clock: systemClock, random: Math.random, log }
          const readToken = secretKeys(fenced, { namespace: settings.namespace, name: blockerSecretName })
          const queue = runQueue(
            {
              ...doors,
              views,
              windows,
              blockers: new BlockerBoard({ ...doors, readToken, signal: stop }),
              heartbeats: new Heartbeats(systemClock),
              // What cannot be known now is not relied on: pods are evicted.
              offersEvictionRequest: await offersEvictionRequest(client, stop).catch(() => false),
              ownNamespace: settings.namespace,
              recorder,
            },
            stop,
          )
          const ownNamespace = settings.namespace
          const notify = runNotify({ ...doors, views, ownNamespace, recorder, counts: notifyCounts }, stop)
          const rounds = [queue, runWindowStatus({ ...doors, views: windows }, stop), notify]
          await Promise.all([...rounds, profiles?.run(term, stop)])
          await recorder.stop(AbortSignal.timeout(2_000))
        } finally {
          leaderToken = undefined
        }
      },
    )
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    hasEnded = true
    // Who evicts its own pod would lose the figures of that very drain. Who failed has to start again, and soon.
    if (signal.aborted) await systemClock.sleep(settings.metricsTimeoutMs, fetched.signal).catch(() => undefined)
    // Probes that are under way still get their answer.
    await sleep(50)
    await Promise.all(listeners.map((http) => http.close()))
    client.close()
    log.info({}, 'stopped')
  }
}

/** A leader that cannot renew stops after two thirds of the time, and renews five times in it. */
export function leaseTimes(seconds: number) {
  const leaseDurationMs = seconds * 1000
  return {
    leaseDurationMs,
    renewDeadlineMs: Math.round((leaseDurationMs * 2) / 3),
    renewEveryMs: Math.round(leaseDurationMs / 5),
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
