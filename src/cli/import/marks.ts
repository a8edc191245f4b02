import type { CompatibleProgram } from '../../api/index.ts'
import { carried, fitsBudget, notNeeded, type Part, refused, type Seen, unreadable } from './finding.ts'
import { readGoBoolean, readGoList } from './go-values.ts'
import { isLabelKey, isLabelValue } from './selector.ts'
import type { Settings } from './settings.ts'

/** What other programs look for on nodes. None of it keeps a node in service, so a mistake here stops nothing. */
export function markParts(settings: Settings, program: CompatibleProgram): Part[] {
  return [
    taintPart(settings.one('prefer-no-schedule-taint')),
    annotationsPart(settings.one('annotate-nodes'), program),
    labelsPart(settings.all('pre-reboot-node-labels'), 'labelsWhileOut'),
    labelsPart(settings.all('post-reboot-node-labels'), 'labelsAfter'),
  ]
}

function taintPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const { text: key = '' } = seen
  if (key === '') return { findings: [notNeeded(seen, 'there is no taint without it either')] }
  if (!isLabelKey(key))
    return { findings: [refused(seen, 'it is not the key of a taint; write for example example.com/queued')] }
  return {
    findings: [carried(seen, `spec.marks.taintWhileQueued: ${key}`)],
    budget: { marks: { taintWhileQueued: key } },
  }
}

function annotationsPart(seen: Seen | undefined, program: CompatibleProgram): Part {
  if (!seen) return { findings: [] }
  const isOn = readGoBoolean(seen.text ?? '')
  if (isOn === undefined) return { findings: [unreadable(seen, 'true or false; write one of them')] }
  if (!isOn) return { findings: [notNeeded(seen, 'there are no such annotations without it either')] }
  return {
    findings: [carried(seen, `spec.marks.annotationsOf: [${program}]`)],
    budget: { marks: { annotationsOf: [program] } },
  }
}

function labelsPart(all: readonly Seen[], field: 'labelsWhileOut' | 'labelsAfter'): Part {
  const read = all.map((seen) => ({ seen, pairs: pairsOf(seen.text ?? '') }))
  const labels = Object.fromEntries(read.flatMap(({ pairs }) => pairs ?? []))
  const isEmpty = Object.keys(labels).length === 0
  const fits = Object.keys(labels).length <= 32 && fitsBudget({ marks: { [field]: labels } })
  const findings = read.map(({ seen, pairs }) => {
    if (!pairs) return refused(seen, 'it is not a list of labels; write for example maintenance=yes')
    if (!fits) return refused(seen, 'a node gets at most 32 labels; write fewer')
    return pairs.length === 0 ? notNeeded(seen, 'it is empty') : carried(seen, `spec.marks.${field}`)
  })
  return { findings, ...(fits && !isEmpty ? { budget: { marks: { [field]: labels } } } : {}) }
}

function pairsOf(text: string): readonly (readonly [string, string])[] | undefined {
  const pairs = readGoList(text)?.map((item) => {
    const [key = '', value, ...more] = item.split('=')
    return value !== undefined && more.length === 0 && isLabelKey(key) && isLabelValue(value)
      ? ([key, value] as const)
      : undefined
  })
  return pairs?.every((pair) => pair !== undefined) ? pairs : undefined
}
