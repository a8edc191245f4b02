import type { CompatibleProgram, ForeignLock } from '../api/index.ts'
import type { KubeObject } from '../kube/index.ts'

/**
 * Where locks of other programs lie. Those of kured and Kustodian are looked for on every DaemonSet; the budget names
 * others, and which of them we hold or take over.
 */

const programs: Readonly<
  Record<CompatibleProgram, { readonly called: string; readonly daemonSet: string; readonly annotation: string }>
> = {
  Kured: { called: 'kured', daemonSet: 'kured', annotation: 'weave.works/kured-node-lock' },
  Kustodian: { called: 'Kustodian', daemonSet: 'kustodian', annotation: 'k8s.io/kustodian-node-lock' },
}

/** Where a lock may lie. */
export interface LockPlace {
  readonly program: CompatibleProgram
  readonly namespace: string
  readonly name: string
  readonly annotation: string
  readonly hold: boolean
  readonly takeOver: boolean
}

/** A place on a DaemonSet that exists, with what lies there. */
export interface SeenLock extends LockPlace {
  readonly text: string | undefined
}

/** Such as `kured on DaemonSet kube-system/kured`. */
export function placeText({ program, namespace, name }: LockPlace): string {
  return `${programs[program].called} on DaemonSet ${namespace}/${name}`
}

/** What the budget names, with what it leaves out. */
export function namedPlaces(entries: readonly ForeignLock[] = []): LockPlace[] {
  return entries.map((entry) => ({
    ...entry,
    name: entry.name ?? programs[entry.program].daemonSet,
    annotation: entry.annotation ?? programs[entry.program].annotation,
  }))
}

export function seenLocks(daemonSets: Iterable<KubeObject>, entries: readonly ForeignLock[] = []): SeenLock[] {
  const named = namedPlaces(entries)
  return [...daemonSets].flatMap(({ metadata: { namespace = '', name = '', annotations } }) => {
    const here = named.filter((place) => place.namespace === namespace && place.name === name)
    const usual = (Object.keys(programs) as CompatibleProgram[]).map((program) => ({
      program,
      namespace,
      name,
      annotation: programs[program].annotation,
      hold: false,
      takeOver: false,
    }))
    const others = usual.filter(({ annotation }) => !here.some((place) => place.annotation === annotation))
    return [...here, ...others].map((place) => ({ ...place, text: annotations?.[place.annotation] }))
  })
}
