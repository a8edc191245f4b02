import type { NodeExplanation, ProfileExplanation, TransitionExplanation } from '../profiles/index.ts'
import { shortTime } from '../queue/index.ts'
import { durationText } from '../time/index.ts'

/** For a terminal: one block for each profile, the newest history first. */
export function explanationText(explanation: NodeExplanation, nowMs: number): string {
  const { node, label, state, paused, problem, frozen, unknown, known, profiles, pending, history } = explanation
  const { warnings = [] } = explanation
  return [
    `${node} is ${state}; its profiles: ${label === null || label === '' ? 'default (it has no label)' : label}`,
    ...(paused === undefined
      ? []
      : [`paused: ${paused || 'no reason given'}; \`fettle profiles resume ${node}\` lets it go on`]),
    ...(problem === undefined ? [] : [`nothing is decided: ${problem}`]),
    ...(frozen === undefined ? [] : [`frozen: ${frozen}`]),
    ...warnings.map(({ note, times, at }) => `warned ${times} times, last at ${shortTime(at)}: ${note}`),
    ...unknown.map((name) => `the label names ${name}, which is not in the file; it has: ${known.join(', ')}`),
    ...profiles.flatMap((profile) => profileLines(profile, nowMs)),
    ...pending.map(
      ({ profile, instance, state: about, at }) =>
        `not sent yet: message ${instance} of profile ${profile} about ${about}, due since ${shortTime(at)}`,
    ),
    ...(history.length === 0 ? [] : ['history']),
    ...history.map(({ at, profile, from, to, why }) => `  ${shortTime(at)}  ${profile}: ${from} → ${to}  (${why})`),
    '',
  ].join('\n')
}

function profileLines(profile: ProfileExplanation, nowMs: number): string[] {
  const { name, state, since, isOverdue, inFlight, transitions, next } = profile
  const age =
    since === null ? '' : ` since ${shortTime(since)} (${durationText(Math.max(0, nowMs - Date.parse(since)))})`
  return [
    '',
    `profile ${name}: ${state}${age}${isOverdue ? ', longer than its deadline' : ''}`,
    ...(inFlight
      ? [`  on the way to ${inFlight.to} since ${shortTime(inFlight.since)}: trigger ${inFlight.trigger}`]
      : []),
    ...transitions.flatMap(transitionLines),
    `  next: ${next}`,
  ]
}

function transitionLines({ target, isPassed, chain, passesAt }: TransitionExplanation): string[] {
  const answer = isPassed
    ? 'is taken'
    : chain.isPassed
      ? 'is held back, although its checks pass'
      : chain.error === undefined
        ? `does not pass${passesAt ? ` before ${shortTime(passesAt)}` : ''}`
        : 'cannot be decided'
  return [
    `  → ${target} ${answer}: ${chain.expression}`,
    ...chain.checks.map(({ name, type, isPassed: passed, info, error }) => {
      const said = error === undefined ? infoText(info) : `cannot tell: ${error}`
      return `      ${passed ? 'yes' : 'no '}  ${name} (${type})${said === '' ? '' : `  ${said}`}`
    }),
  ]
}

/** A plugin's reason as it is, everything else with its name. */
function infoText(info: Readonly<Record<string, unknown>>): string {
  return Object.entries(info)
    .map(([key, value]) => (key === 'reason' ? String(value) : `${key.replaceAll('_', ' ')}: ${valueText(value)}`))
    .join(', ')
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(' ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
