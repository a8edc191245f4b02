import { alertBlockers, podBlockers } from './blockers.ts'
import { drainParts, drainRemarks } from './drain.ts'
import { notNeeded, type Part } from './finding.ts'
import { lockParts, oneAtATime } from './lock.ts'
import { markParts } from './marks.ts'
import { notifyPart } from './notify.ts'
import type { ImportedProgram } from './program.ts'
import { rebootParts } from './reboot.ts'
import type { FlagForm, Settings } from './settings.ts'
import { windowPart } from './window.ts'

const texts = [
  ['period', 'node-id', 'log-format', 'metrics-host', 'metrics-port'],
  ['reboot-sentinel', 'reboot-sentinel-command', 'reboot-method', 'reboot-command', 'reboot-signal', 'reboot-delay'],
  ['ds-namespace', 'ds-name', 'lock-annotation', 'lock-ttl', 'lock-release-delay', 'concurrency'],
  ['drain-grace-period', 'drain-pod-selector', 'drain-timeout', 'drain-delay', 'skip-wait-for-delete-timeout'],
  ['prometheus-url', 'alert-filter-regexp', 'prefer-no-schedule-taint', 'start-time', 'end-time', 'time-zone'],
  ['notify-url', 'slack-hook-url', 'slack-username', 'slack-channel'],
  ['message-template-drain', 'message-template-reboot', 'message-template-uncordon'],
].flat()

const flags: Readonly<Record<string, FlagForm>> = {
  ...Object.fromEntries(texts.map((flag) => [flag, 'text' as const])),
  'force-reboot': 'switch',
  'alert-filter-match-only': 'switch',
  'alert-firing-only': 'switch',
  'annotate-nodes': 'switch',
  'blocking-pod-selector': 'repeated',
  'reboot-days': 'list',
  'pre-reboot-node-labels': 'list',
  'post-reboot-node-labels': 'list',
}

/** kured: reboots nodes that ask for it by a file, one after the other. */
export const kured: ImportedProgram = {
  name: 'kured',
  executable: 'kured',
  flags,
  hostPaths: ['reboot-sentinel'],
  secrets: ['notify-url', 'slack-hook-url'],
  environmentPrefix: 'KURED_',
  flagOfVariable(variable) {
    const flag = variable.slice('KURED_'.length).toLowerCase().replaceAll('_', '-')
    if (flag === 'node-id') return { ignored: 'an agent knows its node by itself' }
    return flags[flag] === 'repeated' ? { ignored: 'kured does not take this one from its environment' } : { flag }
  },
  chart: {
    flagsBelow: 'configuration',
    ownPods: [
      [
        'image',
        'revisionHistoryLimit',
        'updateStrategy',
        'maxUnavailable',
        'podAnnotations',
        'podLabels',
        'dsAnnotations',
      ],
      ['rbac', 'serviceAccount', 'podSecurityPolicy', 'containerSecurityContext', 'resources', 'hostNetwork'],
      ['metrics', 'service', 'livenessProbe', 'readinessProbe', 'priorityClassName', 'volumeMounts', 'volumes'],
      ['initContainers', 'nameOverride', 'global'],
    ].flat(),
    fixed: {},
  },
  translate: (settings, about) => [
    // First, so that what the settings say replaces it.
    oneAtATime,
    ...lockParts(settings, kured, about),
    ...drainParts(settings),
    podBlockers(settings),
    alertBlockers(settings),
    windowPart(settings, 'reboot-days', kured),
    notifyPart(settings),
    ...markParts(settings, 'Kured'),
    ...rebootParts(settings, about),
    loopPart(settings),
    drainRemarks('kured', settings.one('drain-timeout') !== undefined),
  ],
}

export function loopPart(settings: Settings): Part {
  const reasons: Readonly<Record<string, string>> = {
    period: 'files are watched, and looked at every agent.poll as well',
    'node-id': 'an agent knows its node by itself',
    'log-format': 'logs are JSON',
  }
  return {
    findings: Object.entries(reasons).flatMap(([flag, reason]) => {
      const seen = settings.one(flag)
      return seen ? [notNeeded(seen, reason)] : []
    }),
  }
}
