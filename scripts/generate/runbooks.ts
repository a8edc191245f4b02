import { maintenanceRequest, objectSchema } from '../../src/api/index.ts'

/** A word for why a request stands still, and the page that says what to do. */
export interface Runbook {
  readonly state: 'Held' | 'Waiting'
  readonly reason: string
  /** In docs/runbooks. */
  readonly file: string
}

/** One for each reason that the API knows. The pages themselves are written by hand. */
export function runbooks(): Runbook[] {
  const { held, waiting } = objectSchema(maintenanceRequest).properties?.['status']?.properties ?? {}
  return [
    ...runbooksFor('Held', held?.properties?.['reason']?.enum),
    ...runbooksFor('Waiting', waiting?.properties?.['for']?.enum),
  ]
}

function runbooksFor(state: Runbook['state'], reasons: readonly unknown[] = []): Runbook[] {
  return reasons.map((one) => {
    const reason = String(one)
    return { state, reason, file: `${state.toLowerCase()}${reason.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}.md` }
  })
}
