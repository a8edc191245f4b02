import { durationText } from '../../time/index.ts'
import {
  carried,
  differs,
  type Finding,
  failed,
  notNeeded,
  type Part,
  type Seen,
  stopped,
  unreadable,
} from './finding.ts'
import { readGoBoolean, readGoDuration, readGoInteger } from './go-values.ts'
import type { Settings } from './settings.ts'

const aDuration = 'a duration; write for example 30m'

/** A flag with a duration, where 0 means off. */
export function durationPart(
  seen: Seen | undefined,
  whenOff: string,
  whenOn: (text: string) => {
    readonly budget?: NonNullable<Part['budget']>
    readonly agent?: NonNullable<Part['agent']>
    readonly finding: (seen: Seen) => Finding
  },
): Part {
  if (!seen) return { findings: [] }
  const ms = readGoDuration(seen.text ?? '')
  if (ms === undefined) return { findings: [unreadable(seen, aDuration)] }
  if (ms === 0) return { findings: [notNeeded(seen, whenOff)] }
  const { finding, ...come } = whenOn(durationText(ms))
  return { findings: [finding(seen)], ...come }
}

/** How kured drains. */
export function drainParts(settings: Settings): Part[] {
  return [
    deadlinePart(settings),
    gracePart(settings.one('drain-grace-period')),
    durationPart(settings.one('drain-delay'), 'there is no delay without it either', (lead) => ({
      budget: { timing: { lead } },
      finding: (seen) =>
        differs(seen, `spec.timing.lead: ${lead}; the node says MaintenancePlanned that long before it is cordoned`),
    })),
    selectorPart(settings.one('drain-pod-selector')),
    skipPart(settings.one('skip-wait-for-delete-timeout')),
  ]
}

const held = 'after 30m the request is Held, and a person decides'

function deadlinePart(settings: Settings): Part {
  const [timeout, force] = [settings.one('drain-timeout'), settings.one('force-reboot')]
  const isForced = force ? readGoBoolean(force.text ?? '') : false
  const timeoutMs = timeout ? readGoDuration(timeout.text ?? '') : 0
  const problems = [
    ...(timeout && timeoutMs === undefined ? [unreadable(timeout, aDuration)] : []),
    ...(force && isForced === undefined ? [unreadable(force, 'true or false; write one of them')] : []),
  ]
  if (timeoutMs === undefined || isForced === undefined)
    return failed(
      [timeout, force].flatMap((seen) => seen ?? []),
      problems,
      'nothing comes of it',
    )
  if (timeoutMs === 0)
    return {
      findings: [
        ...(timeout ? [differs(timeout, `kured waits for ever; here ${held}`)] : []),
        ...(force
          ? [
              isForced
                ? differs(
                    force,
                    `without drain-timeout kured waits for ever; here ${held}. spec.defaults.drain.onDeadline: Continue reboots with pods on the node`,
                  )
                : notNeeded(force, 'nothing is forced here either'),
            ]
          : []),
      ],
    }
  const deadline = durationText(timeoutMs)
  const onDeadline = isForced ? ('Continue' as const) : ('Requeue' as const)
  return {
    findings: [
      ...(timeout ? [carried(timeout, `spec.defaults.drain.deadline: ${deadline}, onDeadline: ${onDeadline}`)] : []),
      ...(force
        ? [
            isForced
              ? differs(
                  force,
                  'spec.defaults.drain.onDeadline: Continue; a request that says so itself needs the right `continue`',
                )
              : carried(force, 'spec.defaults.drain.onDeadline: Requeue'),
          ]
        : []),
    ],
    budget: { defaults: { drain: { deadline, onDeadline } } },
  }
}

function gracePart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const seconds = readGoInteger(seen.text ?? '')
  if (seconds === undefined) return { findings: [unreadable(seen, 'a whole number of seconds; write for example 60')] }
  if (seconds < 0) return { findings: [notNeeded(seen, 'each pod has its own grace period here, too')] }
  const gracePeriodMax = durationText(seconds * 1_000)
  return {
    findings: [
      differs(
        seen,
        `spec.defaults.drain.gracePeriodMax: ${gracePeriodMax}; it is the longest, and a pod that asks for less gets less`,
      ),
    ],
    budget: { defaults: { drain: { gracePeriodMax } } },
  }
}

function selectorPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  if (seen.text === '') return { findings: [notNeeded(seen, 'all pods leave here, too')] }
  return {
    findings: [
      stopped(
        seen,
        'there is nothing like it: all pods leave but those of DaemonSets; keep the others away from such nodes',
      ),
    ],
  }
}

function skipPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const seconds = readGoInteger(seen.text ?? '')
  if (seconds === undefined) return { findings: [unreadable(seen, 'a whole number of seconds; write for example 60')] }
  return {
    findings: [
      seconds > 0
        ? differs(seen, 'pods that are stopping are waited for until spec.defaults.drain.deadline')
        : notNeeded(seen, 'pods that are stopping are waited for here, too'),
    ],
  }
}

/** What the programs do without being told, and what is otherwise here. */
export function drainRemarks(program: string, hasTimeout: boolean): Part {
  const remark = (setting: string, text: string): Finding => ({ setting, outcome: 'differs', text })
  return {
    findings: [
      remark(
        'pods without a controller',
        `${program} deletes them for good; here they stop the drain, unless spec.defaults.drain.unmanaged is Evict`,
      ),
      ...(hasTimeout ? [] : [remark('a drain that does not end', `${program} waits for ever; here ${held}`)]),
    ],
  }
}
