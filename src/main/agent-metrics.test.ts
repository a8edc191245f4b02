import { expect, test } from 'vitest'
import type { HostView } from '../agent/index.ts'
import { agentMetrics } from './agent-metrics.ts'

const view: HostView = {
  request: { is: 'Absent' },
  permission: { is: 'Unreadable', why: 'EIO' },
  scripts: [],
  onlyScriptsAsk: false,
  reboot: { is: 'Present', id: '1', key: 'k', reason: 'r' },
  bootID: 'b',
  highestToken: 0,
  isToldToReboot: false,
  rebootsLastDay: 0,
}
const sources = { node: 'node-7', requests: { size: 3 }, view, acts: new Map([['report', 2]]), isKured: false }

test('an agent says what it sees and did', () => {
  const text = agentMetrics(sources)
  expect(text).toContain('# TYPE fettle_agent_requests gauge\nfettle_agent_requests 3\n')
  expect(text).toContain('fettle_agent_file{file="request",state="Absent"} 1\n')
  expect(text).toContain('fettle_agent_file{file="permission",state="Unreadable"} 1\n')
  expect(text).toContain('fettle_agent_file{file="reboot",state="Absent"} 0\n')
  expect(text).toContain('# TYPE fettle_agent_acts_total counter\nfettle_agent_acts_total{act="report"} 2\n')
  expect(text).not.toContain('kured')
})

test('and, if it is asked to, whether a reboot is needed in the words of kured', () => {
  expect(agentMetrics({ ...sources, isKured: true })).toContain('\nkured_reboot_required{node="node-7"} 1\n')
})

test('what was never looked at is unreadable, not absent', () => {
  expect(agentMetrics({ ...sources, view: undefined })).toContain(
    'fettle_agent_file{file="request",state="Unreadable"} 1\n',
  )
})
