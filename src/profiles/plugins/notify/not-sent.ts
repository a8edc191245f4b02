import type { Delivery } from '../../../notify/index.ts'

/** Why a message did not leave. Its words hold no secret, and none of the other side. */
export class NotSent extends Error {
  readonly code = 'NotSent'
  /** Without it only a change of the file helps, or of the other side. */
  readonly isWorthRetry: boolean

  constructor(why: string, isWorthRetry: boolean) {
    super(why)
    this.isWorthRetry = isWorthRetry
  }
}

/** Expected outcomes of sending are values; for whoever runs notifiers they are errors. Answers what is to be remarked. */
export function mustBeDelivered(delivery: Delivery): string | undefined {
  if (!delivery.isDelivered) throw new NotSent(delivery.why, delivery.isWorthRetry)
  return delivery.remark
}
