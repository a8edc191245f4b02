import type { Blocker } from '../../api/index.ts'
import type { Block } from './decide-blockers.ts'

/** Whether the node may leave, as far as one alert rule or hook is concerned. */
export type Answer =
  | { readonly mayLeave: 'yes' }
  | { readonly mayLeave: 'no'; readonly why: string }
  | { readonly mayLeave: 'unknown'; readonly why: string }

/** Makes text of others fit to be shown. */
export type Shown = (text: string) => string

const longestShown = 200

/** One line of bounded length, in which the token is masked: whoever was sent it might send it back. */
export function shownWithout(token: string | undefined): Shown {
  return (text) => {
    const masked = token ? text.replaceAll(token, '[redacted]') : text
    const line = masked.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}

/** The answer as a person reads it. Only the origin of a hook is named: its path may be what keeps strangers out. */
export function blockOf(blocker: Blocker, answer: Answer): Block | undefined {
  const { name, alerts, hook } = blocker
  const address = alerts?.url ?? originOf(hook?.url ?? '')
  switch (answer.mayLeave) {
    case 'yes':
      return undefined
    case 'no':
      return {
        message: `blocker ${name}: ${answer.why}`,
        next: alerts ? `look at ${alerts.url.replace(/\/$/, '')}/alerts` : `ask who runs ${address}`,
      }
    case 'unknown':
      return {
        message: `blocker ${name} cannot be judged: ${address} ${answer.why}`,
        next: `make it answer, or take blocker ${name} out: kubectl edit maintenancebudget cluster`,
      }
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'its address'
}
