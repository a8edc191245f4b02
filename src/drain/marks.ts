import type { CompatibleProgram, Marks } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'

/**
 * What other programs look for on a node that is out. All of it travels in the patches that cordon and restore, so that
 * no write and no crash comes in between. Labels are meant as kured means them: what a node gets when it leaves stays
 * until what it gets when it is back overwrites it. Only if the setting is gone by then, they go as well.
 */

const programAnnotations: Readonly<
  Record<CompatibleProgram, { readonly inProgress: string; readonly needed: string }>
> = {
  Kured: {
    inProgress: 'weave.works/kured-reboot-in-progress',
    needed: 'weave.works/kured-most-recent-reboot-needed',
  },
  Kustodian: { inProgress: 'k8s.io/maintenance-in-progress', needed: 'k8s.io/most-recent-maintenance-needed' },
}

/** Noted with the cordon, because the settings may be others when it goes. */
interface MarksNote {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: readonly string[]
}

interface MarksChange {
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
}

/** What a node gets when it leaves service, and what has to be noted of it. */
export function marksOut(
  node: NodeObject,
  { labelsWhileOut, annotationsOf = [] }: Marks,
  since: string,
): MarksChange & { readonly note: MarksNote } {
  const labels = validLabels(labelsWhileOut)
  // Those programs write whole seconds.
  const time = since.replace(/\.\d+/, '')
  const programs = annotationsOf.map((program) => programAnnotations[program])
  // One that is there already is theirs: they set it before they have their lock.
  const ours = programs.filter(({ inProgress }) => node.metadata.annotations?.[inProgress] === undefined)
  const keys = ours.map(({ inProgress }) => inProgress)
  return {
    labels,
    annotations: Object.fromEntries([...programs.map(({ needed }) => needed), ...keys].map((key) => [key, time])),
    note: {
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(keys.length > 0 ? { annotations: keys } : {}),
    },
  }
}

/** What a node gets when it is back, and what it loses. */
export function marksBack(
  node: NodeObject,
  { labels = {}, annotations = [] }: MarksNote,
  { labelsWhileOut, labelsAfter }: Marks,
): MarksChange {
  const inProgress = Object.values(programAnnotations).map((keys) => keys.inProgress)
  // The note lies on the node, where its kubelet may write: nothing goes because of it that a kubelet could not remove.
  const leftOver = Object.entries(labelsWhileOut ? {} : labels).filter(
    ([key, value]) => node.metadata.labels?.[key] === value && !reservedLabel.test(key),
  )
  return {
    labels: { ...Object.fromEntries(leftOver.map(([key]) => [key, null])), ...validLabels(labelsAfter) },
    annotations: Object.fromEntries(
      inProgress
        .filter((key) => annotations.includes(key) && node.metadata.annotations?.[key] !== undefined)
        .map((key) => [key, null]),
    ),
  }
}

/** What was noted with a cordon; what cannot be read was not noted. */
export function readMarksNote(text: string | undefined): MarksNote {
  try {
    const note: unknown = JSON.parse(text ?? '')
    const { labels, annotations } = (note ?? {}) as Partial<Record<keyof MarksNote, unknown>>
    const isWhole = typeof labels === 'object' && labels !== null && !Array.isArray(labels)
    return {
      ...(isWhole ? { labels: labels as Record<string, string> } : {}),
      ...(Array.isArray(annotations) ? { annotations: annotations as string[] } : {}),
    }
  } catch {
    return {}
  }
}

/** Names that only the cluster itself may give. */
const reservedLabel = /^([^/]*\.)?(kubernetes|k8s)\.io\//

/** Of a key: an optional DNS name and a slash, then a name. */
const namePart = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?'
const labelKey = new RegExp(
  `^((?=[^/]{1,253}/)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*/)?${namePart}$`,
)
const labelValue = new RegExp(`^(${namePart})?$`)

/** Whether the API server takes it as the key of a label or a taint. */
export function isLabelKey(key: string): boolean {
  return labelKey.test(key)
}

/** One that the API server refuses would refuse the whole patch, and the node could neither leave nor come back. */
function validLabels(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key, value]) => isLabelKey(key) && labelValue.test(value)))
}
