import * as z from 'zod'
import type { AlertsBlocker } from '../../api/index.ts'
import type { Answer, Shown } from './decide-answer.ts'

/**
 * Prometheus itself compares the names: then an expression means here what it means in its rules, and one that it cannot
 * read is its error and not a guess of ours. Counted by name, because a thousand alerts of one kind say no more than one.
 */
export function alertQuery({ ignore, only, firingOnly, labels = {} }: AlertsBlocker): string {
  const matchers = [
    'alertname=~".+"',
    ...(ignore === undefined ? [] : [`alertname!~${quoted(ignore)}`]),
    ...(only === undefined ? [] : [`alertname=~${quoted(only)}`]),
    ...(firingOnly ? ['alertstate="firing"'] : []),
    ...Object.entries(labels).map(([name, value]) => `${name}=${quoted(value)}`),
  ]
  return `count by (alertname, alertstate) (ALERTS{${matchers.join(',')}} != 0)`
}

/** What JSON escapes is escaped the same way in a query. */
function quoted(text: string): string {
  return JSON.stringify(text)
}

const found = z.object({
  status: z.literal('success'),
  warnings: z.array(z.string()).optional(),
  data: z.object({
    resultType: z.literal('vector'),
    result: z.array(z.object({ metric: z.record(z.string(), z.string()) })),
  }),
})
const failed = z.object({ status: z.literal('error'), error: z.string() })

/** What an answer of Prometheus says. */
export function decideAlerts(status: number, body: unknown, shown: Shown): Answer {
  const failure = failed.safeParse(body)
  if (failure.success) return { mayLeave: 'unknown', why: `refuses the question: ${shown(failure.data.error)}` }
  const answer = found.safeParse(body)
  if (status !== 200 || !answer.success)
    return { mayLeave: 'unknown', why: `answered ${status} with something that is not a list of alerts` }
  const { data, warnings = [] } = answer.data
  const active = data.result
    .map(({ metric }) => `${shown(metric['alertname'] ?? '?')} is ${shown(metric['alertstate'] ?? 'active')}`)
    .sort()
  if (active.length > 0)
    return { mayLeave: 'no', why: `alert ${active.slice(0, 3).join(', ')}${active.length > 3 ? ' and others' : ''}` }
  // Several servers behind one address: those that did not answer may have had an alert.
  if (warnings[0] !== undefined) return { mayLeave: 'unknown', why: `answered for a part only: ${shown(warnings[0])}` }
  return { mayLeave: 'yes' }
}
