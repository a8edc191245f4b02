import { durationPart } from './drain.ts'
import { carried, differs, fitsBudget, type Part, type Seen, stopped, unreadable } from './finding.ts'
import { readGoInteger } from './go-values.ts'
import type { About, ImportedProgram } from './program.ts'
import type { Settings } from './settings.ts'

/** How many nodes at once, and the lock that says so while both programs run. */
export function lockParts(
  settings: Settings,
  { name, executable }: Pick<ImportedProgram, 'name' | 'executable'>,
  { hasManifest }: Pick<About, 'hasManifest'>,
): Part[] {
  return [
    foreignLockPart(settings, name, executable, hasManifest),
    concurrencyPart(settings.one('concurrency')),
    durationPart(settings.one('lock-ttl'), 'a slot never expires here either', () => ({
      finding: (seen) =>
        differs(
          seen,
          'a slot never expires; a node that stays silent is Held, or with spec.onNodeLost: Continue counts as down while others go on',
        ),
    })),
    durationPart(settings.one('lock-release-delay'), 'there is no rest without it either', (soak) => ({
      budget: { timing: { soak } },
      finding: (seen) => carried(seen, `spec.timing.soak: ${soak}`),
    })),
  ]
}

function foreignLockPart(
  settings: Settings,
  program: 'kured' | 'Kustodian',
  executable: string,
  hasManifest: boolean,
): Part {
  const [namespace, name, annotation] = ['ds-namespace', 'ds-name', 'lock-annotation'].map((flag) => settings.one(flag))
  const lock = {
    program: program === 'kured' ? ('Kured' as const) : program,
    namespace: namespace?.text ?? 'kube-system',
    name: name?.text ?? executable,
    ...(annotation?.text === undefined ? {} : { annotation: annotation.text }),
    hold: true,
    takeOver: true,
  }
  const all = [namespace, name, annotation].flatMap((seen) => seen ?? [])
  const fits = fitsBudget({ foreignLocks: [lock] })
  const judge = (seen: Seen) =>
    fits
      ? carried(seen, `spec.foreignLocks: ${lock.namespace}/${lock.name}, during the roll-over only`)
      : stopped(seen, 'it is empty or too long; write what the DaemonSet is called, and the key of its lock')
  return {
    findings: [
      ...all.map(judge),
      ...(hasManifest || (namespace && name)
        ? []
        : [
            {
              setting: `the lock of ${program}`,
              outcome: 'differs' as const,
              text: `values do not say where the DaemonSet is; correct namespace and name in spec.foreignLocks if it is not ${lock.namespace}/${lock.name}`,
            },
          ]),
    ],
    ...(fits ? { budget: { foreignLocks: [lock] } } : {}),
  }
}

const mostNodes = 100_000

function concurrencyPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const count = readGoInteger(seen.text ?? '')
  if (count === undefined || count > mostNodes)
    return { findings: [unreadable(seen, 'a number of nodes; write for example 1')] }
  const max = Math.max(1, count)
  return {
    findings: [
      max === 1
        ? carried(seen, 'spec.max: 1')
        : differs(
            seen,
            `spec.max: ${max}; nodes that are down or cordoned count too, and one at a time while spec.foreignLocks holds a lock`,
          ),
    ],
    budget: { max },
  }
}

/** Of a program that has one place at a time and no flag for it. */
export const oneAtATime: Part = { findings: [], budget: { max: 1 } }
