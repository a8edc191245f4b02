import {
  budgetName,
  group,
  type MaintenanceBudget,
  type MaintenanceRequest,
  type Notification,
  notifySecretName,
  version,
} from '../api/index.ts'
import { type EventRecorder, type KubeClient, type ResourceCache, secretKeys, WorkQueue } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { Delivery } from './delivery.ts'
import { composeMessage, type Message } from './message.ts'
import type { NotifyCounts } from './notify-counts.ts'
import { occasionOf } from './occasion.ts'
import { send } from './send.ts'

export interface NotifyPorts {
  /** Reads the Secret. */
  readonly client: Pick<KubeClient, 'get'>
  readonly views: {
    readonly requests: Pick<ResourceCache<MaintenanceRequest>, 'subscribe'>
    readonly budgets: Pick<ResourceCache<MaintenanceBudget>, 'get'>
  }
  /** The controller's own, in which the Secret lies. */
  readonly ownNamespace: string
  readonly clock: Clock
  readonly random: () => number
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly log: {
    readonly info: (fields: object, message: string) => void
    readonly warn: (fields: object, message: string) => void
  }
  readonly counts: NotifyCounts
}

interface Waiting {
  readonly notification: Notification
  readonly message: Message
}

const mostTries = 3
const [firstPauseMs, pauseFactor] = [1_000, 4]
const mostUnderWay = 8
/** Whoever takes none for so long would be flooded when it comes back. */
const mostWaiting = 100
const mostTold = 256

/** Tried again after a pause, which messages that come meanwhile do not cut short. */
class Undelivered extends Error {
  readonly code = 'Undelivered'
  readonly retryAfterMs: number

  constructor(why: string, retryAfterMs: number) {
    super(why)
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Tells people what becomes of nodes, until the signal aborts. Each notification has a line of its own, so that its
 * messages keep their order and one that fails holds up no other. Nothing here is waited for by the queue.
 */
export async function runNotify(ports: NotifyPorts, signal: AbortSignal): Promise<void> {
  const { client, views, clock, random, log, ownNamespace } = ports
  const doors = { clock, readSecret: secretKeys(client, { namespace: ownNamespace, name: notifySecretName }) }
  const lines = new Map<string, Waiting[]>()
  const troubles = new TemplateTroubles(ports)
  const queue = new WorkQueue({ clock, random, concurrency: mostUnderWay, backoff: { firstMs: 1, longestMs: 1 } })
  const stop = views.requests.subscribe((event) => {
    const occasion = event.type === 'updated' ? occasionOf(event.old, event.object) : undefined
    if (!occasion) return
    for (const notification of views.budgets.get({ name: budgetName })?.spec.notify ?? []) {
      if (!notification.on.includes(occasion)) continue
      const waiting = { notification, message: composeMessage(notification, event.object, occasion) }
      troubles.tell(waiting)
      const line = lines.get(notification.name) ?? []
      if (line.length >= mostWaiting) {
        const why = `${mostWaiting} messages wait for it already`
        settle(ports, waiting, { isDelivered: false, why, isWorthRetry: false })
        continue
      }
      lines.set(notification.name, [...line, waiting])
      queue.add(notification.name)
    }
  })
  queue.start(async (name, context) => {
    const first = lines.get(name)?.[0]
    if (!first) return undefined
    const delivery = await send(first.notification, first.message, doors, context.signal)
    if (!delivery.isDelivered && delivery.isWorthRetry && context.attempt < mostTries) {
      log.info({ notification: name, attempt: context.attempt, why: delivery.why }, 'a notification is tried again')
      throw new Undelivered(delivery.why, firstPauseMs * pauseFactor ** (context.attempt - 1))
    }
    settle(ports, first, delivery)
    const [, ...others] = lines.get(name) ?? []
    if (others.length > 0) lines.set(name, others)
    else lines.delete(name)
    return others.length > 0 ? { requeueAfterMs: 0 } : undefined
  })
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  stop()
  await queue.drain(AbortSignal.timeout(2_000))
  const unsent = [...lines.values()].flat().length
  if (unsent > 0) log.warn({ unsent }, 'notifications were not sent, because this instance stops or leads no longer')
}

function settle(ports: NotifyPorts, { notification, message }: Waiting, delivery: Delivery): void {
  const { name } = notification
  const { Request: request, Occasion: occasion } = message.facts
  ports.counts.add(name, delivery.isDelivered ? 'sent' : 'failed')
  if (delivery.isDelivered) {
    const { remark } = delivery
    ports.log.info({ notification: name, occasion, request }, 'a notification was sent')
    if (remark === undefined) return
    ports.log.warn({ notification: name, occasion, request, why: remark }, 'a notification did not reach everybody')
    record(ports, 'NotificationFailed', `notification ${name} about ${request} did not reach everybody: ${remark}`)
    return
  }
  ports.log.warn({ notification: name, occasion, request, why: delivery.why }, 'a notification was not sent')
  record(ports, 'NotificationFailed', `notification ${name} about ${request} was not sent: ${delivery.why}`)
}

/** On the budget, where the notification is written. */
function record({ views, recorder }: NotifyPorts, reason: string, note: string): void {
  const uid = views.budgets.get({ name: budgetName })?.metadata.uid
  recorder.record({
    regarding: {
      apiVersion: `${group}/${version}`,
      kind: 'MaintenanceBudget',
      name: budgetName,
      ...(uid === undefined ? {} : { uid }),
    },
    type: 'Warning',
    reason,
    action: 'Notify',
    note,
  })
}

/** Says once of each template that it cannot be used, and not with every message. */
class TemplateTroubles {
  readonly #ports: NotifyPorts
  readonly #told = new Set<string>()

  constructor(ports: NotifyPorts) {
    this.#ports = ports
  }

  tell({ notification: { name }, message: { problems } }: Waiting): void {
    for (const { path, template, why } of problems) {
      const key = JSON.stringify([name, path, template])
      if (this.#told.has(key)) continue
      if (this.#told.size >= mostTold) this.#told.clear()
      this.#told.add(key)
      this.#ports.log.warn({ notification: name, template: path, why }, 'a template cannot be used')
      record(this.#ports, 'NotificationTemplate', `${path} of notification ${name} cannot be used: ${why}`)
    }
  }
}
