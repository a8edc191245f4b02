import { styleText } from 'node:util'
import type { MaintenanceRequest } from '../../api/index.ts'
import type { NodeObject, PodObject } from '../../kube/index.ts'
import { isReady } from '../../queue/index.ts'
import { requestText } from '../follow-request.ts'
import type { Availability } from './availability.ts'

/** All that the screen shows. */
export interface DemoFrame {
  readonly nodes: readonly NodeObject[]
  readonly pods: readonly PodObject[]
  readonly requests: readonly MaintenanceRequest[]
  readonly availability: readonly Availability[]
  readonly elapsedSeconds: number
  /** A sentence about what a person would do now. */
  readonly note: string
}

/** One screen: nodes with their pods, who waits for whom and why, how far it is. Pure. */
export function frameText(frame: DemoFrame): string {
  const done = frame.requests.filter(({ status }) => status?.phase === 'Done').length
  return [
    ...frame.nodes.map((node) => nodeLine(node, frame)),
    '',
    progressLine(done, frame.requests.length, frame.elapsedSeconds),
    ...frame.availability.map(
      ({ name, lowest, minAvailable }) =>
        `  ${name.padEnd(8)} at least ${minAvailable} promised, lowest seen ${lowest}`,
    ),
    ...(frame.note ? ['', ...frame.note.split('; ').map((part) => `  ${styleText('yellow', part)}`)] : []),
    '',
  ].join('\n')
}

const states = {
  Queued: 'waits',
  Claimed: 'draining',
  Granted: 'working',
  Rebooting: 'reboots',
  Finishing: 'returns',
  Held: 'held',
  Done: 'done',
} as const

function nodeLine(node: NodeObject, { requests, pods }: DemoFrame): string {
  const { name = '', labels } = node.metadata
  const request = requests.find(({ spec }) => spec.nodeName === name)
  const phase = request?.status?.phase
  const state = phase ? states[phase] : 'asked'
  const colour = phase === 'Done' ? 'green' : phase === 'Queued' || !phase ? 'gray' : 'cyan'
  const here = pods.filter((pod) => pod.spec?.nodeName === name)
  const leaving = here.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length
  const room = ' '.repeat(Math.max(0, 6 - here.length))
  const blocks = `${'■'.repeat(here.length - leaving)}${styleText('red', '□'.repeat(leaving))}${room}`
  const readiness = isReady(node) ? '' : styleText('red', ' NotReady')
  const text = request && phase !== 'Done' ? styleText('gray', ` ${whyText(request)}`) : ''
  return `  ${name.padEnd(8)} ${labels?.['topology.kubernetes.io/zone'] ?? ''}  ${styleText(colour, state.padEnd(9))}${blocks}${readiness}${text}`
}

/** The request's own sentence, without what the line says already. */
function whyText(request: MaintenanceRequest): string {
  return requestText(request)
    .slice(request.spec.nodeName.length + 2)
    .replace(/^draining, /, '')
}

export function progressLine(done: number, total: number, elapsedSeconds: number): string {
  const width = 24
  const full = total === 0 ? 0 : Math.round((done / total) * width)
  const left = done === 0 ? '' : `, about ${Math.round((elapsedSeconds / done) * (total - done))} s left`
  return `  ${'█'.repeat(full)}${'░'.repeat(width - full)}  ${done} of ${total} nodes, ${Math.round(elapsedSeconds)} s${left}`
}
