export type NotifyResult = 'sent' | 'failed'

export interface NotifyCount {
  readonly notification: string
  readonly result: NotifyResult
  readonly count: number
}

/** How many messages were sent or given up since the process began. */
export class NotifyCounts {
  readonly #counts = new Map<string, Record<NotifyResult, number>>()

  add(notification: string, result: NotifyResult): void {
    const counts = this.#counts.get(notification) ?? { sent: 0, failed: 0 }
    counts[result]++
    this.#counts.set(notification, counts)
  }

  all(): NotifyCount[] {
    return [...this.#counts].flatMap(([notification, counts]) =>
      (['sent', 'failed'] as const).map((result) => ({ notification, result, count: counts[result] })),
    )
  }
}
