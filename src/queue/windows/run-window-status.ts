import { isDeepStrictEqual } from 'node:util'
import { maintenanceFreezes, maintenanceWindows } from '../../api/index.ts'
import { isNotFound, type KubeClient, type KubeObject, type Resource, WorkQueue } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import { controllerManager } from '../names.ts'
import type { QueueLog } from '../ports.ts'
import { freezeStatusOf, type StatusDecision, windowStatusOf } from './window-status.ts'
import type { WindowViews } from './window-views.ts'

export interface WindowStatusPorts {
  /** Refuses to write once its term as leader is over. */
  readonly client: KubeClient
  readonly views: WindowViews
  readonly clock: Clock
  readonly random: () => number
  readonly log: QueueLog
}

/** Timers do not reach further than some weeks; and a machine may have slept meanwhile. */
const longestSleepMs = 6 * 3_600_000

/** Keeps the status of windows and freezes true until the signal aborts; writes only what changed. */
export async function runWindowStatus(ports: WindowStatusPorts, signal: AbortSignal): Promise<void> {
  const { views, clock, random, log } = ports
  const queue = new WorkQueue({
    clock,
    random,
    concurrency: 2,
    backoff: { firstMs: 50, longestMs: 60_000 },
    runDeadlineMs: 60_000,
    onFailure: ({ key, error, attempt }) => {
      const why = error instanceof Error ? error.message : String(error)
      // A first conflict only says that somebody else wrote meanwhile.
      if (attempt > 2) log.warn({ key, attempt, why }, 'a status could not be written and is tried again')
    },
  })
  const windowKey = (name: string | undefined) => `window/${name}`
  const freezeKey = (name: string | undefined) => `freeze/${name}`
  const wakeAll = () => {
    for (const { metadata } of views.windows.values()) queue.add(windowKey(metadata.name))
    for (const { metadata } of views.freezes.values()) queue.add(freezeKey(metadata.name))
  }
  const stops = [
    // Calendars wake all, because nobody knows whose they are.
    views.subscribe(wakeAll),
    views.windows.subscribe(({ object }) => queue.add(windowKey(object.metadata.name))),
    views.freezes.subscribe(({ object }) => queue.add(freezeKey(object.metadata.name))),
  ]
  queue.start(async (key, context) => {
    const name = key.slice(key.indexOf('/') + 1)
    const nowMs = clock.now()
    const window = key === windowKey(name) ? views.windows.get({ name }) : undefined
    const freeze = key === freezeKey(name) ? views.freezes.get({ name }) : undefined
    const wakeAtMs = window
      ? await write(
          ports,
          maintenanceWindows,
          window,
          windowStatusOf(window, views.read(window), nowMs),
          context.signal,
        )
      : freeze && (await write(ports, maintenanceFreezes, freeze, freezeStatusOf(freeze, nowMs), context.signal))
    return wakeAtMs === undefined ? undefined : { requeueAfterMs: Math.min(wakeAtMs - nowMs, longestSleepMs) }
  })
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const stop of stops) stop()
  await queue.drain(AbortSignal.timeout(5_000))
}

async function write<T extends KubeObject & { readonly status?: object }>(
  { client }: WindowStatusPorts,
  resource: Resource,
  object: T,
  { status, wakeAtMs }: StatusDecision<object>,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (!isDeepStrictEqual(status, object.status))
    await client
      .replace<T>(resource, { ...object, status }, { subresource: 'status', fieldManager: controllerManager, signal })
      .catch((error: unknown) => {
        // Deleted meanwhile: nobody is left to tell.
        if (!isNotFound(error)) throw error
      })
  return wakeAtMs
}
