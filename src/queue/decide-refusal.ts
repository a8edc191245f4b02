import type { RequestCondition } from '../api/index.ts'
import { refusalOf, withoutRefusals } from './request-status.ts'
import { type RequestStep, type RequestWorld, write } from './request-steps.ts'

/**
 * The patch that a node needs, or undefined when it needs none. What the API server refused is tried again and again, until
 * somebody lets it pass; but what is due meanwhile comes first.
 */
export function attempt(
  { request: { status } }: RequestWorld,
  patch: RequestStep | undefined,
  meanwhile: (refused: RequestCondition) => RequestStep | undefined,
): RequestStep | undefined {
  const refused = refusalOf(status, 'NodeRefused')
  if (!refused || !status) return patch
  if (!patch) return write(withoutRefusals(status))
  const due = meanwhile(refused)
  if (due && due.do !== 'nothing') return due
  return 'why' in patch ? { ...patch, why: `${patch.why}; the API server refuses it: ${refused.message}` } : patch
}
