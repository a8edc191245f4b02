import { drainRemarks } from './drain.ts'
import { carried, type Part, stopped } from './finding.ts'
import { loopPart } from './kured.ts'
import { lockParts, oneAtATime } from './lock.ts'
import { markParts } from './marks.ts'
import type { ImportedProgram } from './program.ts'
import type { Settings } from './settings.ts'
import { windowPart } from './window.ts'

/** Kustodian: lets scripts on hosts work on one node at a time, asked for and allowed by files. */
export const kustodian: ImportedProgram = {
  name: 'Kustodian',
  executable: 'kustodian',
  flags: {
    period: 'text',
    'ds-namespace': 'text',
    'ds-name': 'text',
    'lock-annotation': 'text',
    'lock-ttl': 'text',
    'maintenance-sentinel': 'text',
    'prefer-no-schedule-taint': 'text',
    'maintenance-days': 'list',
    'start-time': 'text',
    'end-time': 'text',
    'time-zone': 'text',
    'annotate-nodes': 'switch',
  },
  hostPaths: ['maintenance-sentinel'],
  secrets: [],
  environmentPrefix: 'KUSTODIAN_',
  flagOfVariable: (variable) => ({
    ignored:
      variable === 'KUSTODIAN_NODE_ID'
        ? 'an agent knows its node by itself'
        : 'of its environment Kustodian reads KUSTODIAN_NODE_ID alone',
  }),
  // The name is not passed on: whatever the DaemonSet is called, Kustodian looks for its lock on one called kustodian.
  chart: { flagsBelow: undefined, ownPods: ['name', 'container'], fixed: { period: '1m', 'annotate-nodes': 'true' } },
  translate: (settings) => [
    oneAtATime,
    // Its chart puts it where the flags say by default.
    ...lockParts(settings, kustodian, { hasManifest: true }),
    sentinelPart(settings),
    windowPart(settings, 'maintenance-days', kustodian),
    ...markParts(settings, 'Kustodian'),
    loopPart(settings),
    drainRemarks('Kustodian', false),
    rebootRemark,
  ],
}

function sentinelPart(settings: Settings): Part {
  const seen = settings.one('maintenance-sentinel')
  if (!seen) return { findings: [] }
  const { text: requestFile = '' } = seen
  if (!requestFile.startsWith('/'))
    return { findings: [stopped(seen, 'it is not a full path; write for example /var/maintenance-required')] }
  return { findings: [carried(seen, `agent.requestFile: ${requestFile}`)], agent: { requestFile } }
}

const rebootRemark: Part = {
  findings: [
    {
      setting: 'reboots',
      outcome: 'differs',
      text: 'Kustodian leaves them to others, so agent.reboot.method is none; `fettle import kured` takes over those of kured',
    },
  ],
  agent: { reboot: { method: 'none' } },
}
