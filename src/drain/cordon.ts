import type { Marks } from '../api/index.ts'
import type { NodeObject, Taint } from '../kube/index.ts'
import { marksBack, marksOut, readMarksNote } from './marks.ts'
import { withoutStopTaint, withStopTaint } from './stop-taint.ts'

/**
 * Who keeps a node unschedulable. Each owner has an annotation of its own; the first one also notes what the node was
 * before, and the last one to leave restores exactly that.
 */
const ownerPrefix = 'cordon.fettle.dev/'
const priorAnnotation = 'fettle.dev/cordon-prior'

export interface CordonClaim {
  /** UID of the request behind it. */
  readonly request: string
  readonly token: number
  readonly since: string
}

/** A merge patch that holds only if the node is still the one that was looked at. */
export interface NodePatch {
  readonly metadata: {
    readonly resourceVersion: string | undefined
    readonly uid: string | undefined
    readonly annotations?: Readonly<Record<string, string | null>>
    readonly labels?: Readonly<Record<string, string | null>>
  }
  readonly spec?: { readonly unschedulable?: boolean | null; readonly taints?: readonly Taint[] }
}

interface CordonOptions {
  /** What else the node gets together with the cordon. */
  readonly marks?: Marks | undefined
  /** Whether the node was unschedulable before, if somebody knows better than the node itself. */
  readonly wasUnschedulable?: boolean | undefined
  /** Whether DaemonSets are stopped, too, and must not start anew while the node is out. */
  readonly stopsDaemonSets?: boolean
}

export function cordonOwners(node: NodeObject): string[] {
  return Object.keys(node.metadata.annotations ?? {})
    .filter((key) => key.startsWith(ownerPrefix))
    .map((key) => key.slice(ownerPrefix.length))
}

export function isCordonedBy({ metadata: { annotations } }: NodeObject, owner: string): boolean {
  return annotations !== undefined && Object.hasOwn(annotations, `${ownerPrefix}${owner}`)
}

/** Somebody has removed the names of all owners alone: what was noted before them is still to be restored. */
export function isCordonLeftOver(node: NodeObject): boolean {
  return cordonOwners(node).length === 0 && node.metadata.annotations?.[priorAnnotation] !== undefined
}

/** What `owner` noted when it took the node, if it holds it and the note can be read. */
export function cordonClaim(node: NodeObject, owner: string): CordonClaim | undefined {
  const text = node.metadata.annotations?.[`${ownerPrefix}${owner}`]
  if (text === undefined) return undefined
  try {
    const claim: unknown = JSON.parse(text)
    const { request, token, since } = (claim ?? {}) as Partial<Record<keyof CordonClaim, unknown>>
    const isWhole = typeof request === 'string' && typeof since === 'string' && !Number.isNaN(Date.parse(since))
    return isWhole && Number.isSafeInteger(token) && Number(token) > 0
      ? { request, token: Number(token), since }
      : undefined
  } catch {
    return undefined
  }
}

/** What makes `owner` hold the cordon, or undefined when nothing is missing. Also repairs what somebody undid of it. */
export function cordonPatch(
  node: NodeObject,
  owner: string,
  claim: CordonClaim,
  { marks = {}, wasUnschedulable, stopsDaemonSets = false }: CordonOptions = {},
): NodePatch | undefined {
  const isUnschedulable = node.spec?.unschedulable === true
  const identity = identityOf(node)
  const taints = stopsDaemonSets ? withStopTaint(node, owner) : undefined
  const spec = { unschedulable: true, ...(taints ? { taints } : {}) }
  if (isCordonedBy(node, owner)) return isUnschedulable && !taints ? undefined : { metadata: identity, spec }
  // Somebody may have removed our annotation alone: what was noted before us stays true.
  const isFirst = cordonOwners(node).length === 0 && node.metadata.annotations?.[priorAnnotation] === undefined
  const { labels, annotations, note } = marksOut(node, marks, claim.since)
  return {
    metadata: {
      ...identity,
      annotations: {
        [`${ownerPrefix}${owner}`]: JSON.stringify({ ...claim, ...note }),
        ...(isFirst ? { [priorAnnotation]: String(wasUnschedulable ?? isUnschedulable) } : {}),
        ...annotations,
      },
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
    },
    spec,
  }
}

/** What takes `owner` and all that it put there off the node, or undefined when nothing of it is there. */
export function restorePatch(node: NodeObject, owner: string, marks: Marks = {}): NodePatch | undefined {
  const isLeftOver = isCordonLeftOver(node)
  const taints = withoutStopTaint(node, owner)
  const untainted = taints ? { taints } : {}
  if (!isCordonedBy(node, owner) && !isLeftOver) return taints && { metadata: identityOf(node), spec: untainted }
  const ownerKey = `${ownerPrefix}${owner}`
  const { labels, annotations } = marksBack(node, readMarksNote(node.metadata.annotations?.[ownerKey]), marks)
  const metadata = {
    ...identityOf(node),
    annotations: { [ownerKey]: null, ...annotations },
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
  }
  if (cordonOwners(node).length > 1) return taints ? { metadata, spec: untainted } : { metadata }
  const wasUnschedulable = node.metadata.annotations?.[priorAnnotation] === 'true'
  return {
    metadata: { ...metadata, annotations: { ...metadata.annotations, [priorAnnotation]: null } },
    // Null removes the field, which is how the API server itself stores a schedulable node.
    spec: { unschedulable: wasUnschedulable ? true : null, ...untainted },
  }
}

/** What takes the note of `owner` off the node and leaves it as it is: it holds nothing any more, or others go on with it. */
export function forgetOwnerPatch(node: NodeObject, owner: string): NodePatch | undefined {
  if (!isCordonedBy(node, owner)) return undefined
  const isLast = cordonOwners(node).length === 1
  const annotations = { [`${ownerPrefix}${owner}`]: null, ...(isLast ? { [priorAnnotation]: null } : {}) }
  return { metadata: { ...identityOf(node), annotations } }
}

function identityOf(node: NodeObject) {
  return { resourceVersion: node.metadata.resourceVersion, uid: node.metadata.uid }
}
