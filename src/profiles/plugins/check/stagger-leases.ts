import { isAlreadyExists, isConflict, isNotFound, type KubeClient, type Lease, resources } from '../../../kube/index.ts'

export interface StaggerLeases {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch'>
  readonly namespace: string
  readonly names: readonly string[]
  readonly durationMs: number
}

/** Who takes a lease, and what for. */
export interface Taker {
  readonly node: string
  /** The same as long as the transition is not carried out, over retries and crashes; another one afterwards. */
  readonly errand: string
}

/** On a lease: what it was taken for. The holder alone cannot say whether that is over. */
export const errandAnnotation = 'fettle.dev/stagger-errand'

const fieldManager = 'fettle-controller'

/** Nothing if there is no such lease yet, and so nobody has it. */
export async function readLease(
  { client, namespace }: StaggerLeases,
  name: string,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await client.get<Lease>(resources.leases, { namespace, name }, { signal })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** How long it is still taken; less than zero when it is free. A lease that does not say since when is free. */
export function takenForMs(lease: Lease | undefined, nowMs: number, durationMs: number): number {
  const renewedMs = Date.parse(lease?.spec?.renewTime ?? lease?.spec?.acquireTime ?? '')
  if (Number.isNaN(renewedMs)) return Number.NEGATIVE_INFINITY
  const seconds = lease?.spec?.leaseDurationSeconds
  return renewedMs + (seconds === undefined ? durationMs : seconds * 1_000) - nowMs
}

/** A transition that is not carried out yet must not be blocked by what it took itself. */
export function isTakenBy(lease: Lease | undefined, { node, errand }: Taker): boolean {
  return lease?.spec?.holderIdentity === node && lease.metadata.annotations?.[errandAnnotation] === errand
}

/** Whether it is ours now. False: somebody was faster. */
export async function takeLease(
  { client, namespace, durationMs }: StaggerLeases,
  name: string,
  seen: Lease | undefined,
  { node, errand }: Taker,
  nowMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const time = microTime(nowMs)
  const transitions = seen?.spec?.leaseTransitions
  const spec = {
    holderIdentity: node,
    acquireTime: time,
    renewTime: time,
    // Less than one second is refused by the API server.
    leaseDurationSeconds: Math.max(1, Math.trunc(durationMs / 1_000)),
    leaseTransitions: transitions === undefined ? 0 : transitions + 1,
  }
  const annotations = { [errandAnnotation]: errand }
  try {
    if (!seen) {
      await client.create<Lease>(
        resources.leases,
        { metadata: { namespace, name, annotations }, spec },
        { signal, fieldManager },
      )
      return true
    }
    const { uid, resourceVersion } = seen.metadata
    const body = { metadata: { uid, resourceVersion, annotations }, spec }
    await client.patch(resources.leases, { namespace, name }, { type: 'merge', body }, { signal, fieldManager })
    return true
  } catch (error) {
    // Gone since it was read: somebody deleted it, and the next look finds out.
    if (isConflict(error) || isAlreadyExists(error) || (seen && isNotFound(error))) return false
    throw error
  }
}

/** Leases want microseconds. Cut and not rounded: nobody takes a lease in the future. */
function microTime(ms: number): string {
  const whole = Math.floor(ms)
  const micros = Math.floor((ms - whole) * 1_000)
  return new Date(whole).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`)
}
