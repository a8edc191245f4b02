import type { MaintenanceBudget } from '../api/index.ts'
import { blockersNow } from './blockers/index.ts'
import { foreignLock } from './foreign-locks.ts'
import type { ClaimGates } from './obstacles.ts'
import type { QueuePorts } from './ports.ts'
import { podsByNode, staleView } from './views.ts'
import { freezeText, windowsNow } from './windows/index.ts'

/** What stands between a request and its slot at this moment, besides the budget. */
export function gatesNow(
  { views, windows, blockers, clock }: Pick<QueuePorts, 'views' | 'windows' | 'blockers' | 'clock'>,
  budget: MaintenanceBudget,
  /** DaemonSets that were there and are not any more. */
  gone: ReadonlySet<string>,
): ClaimGates {
  const nowMs = clock.now()
  const { nodes, requests, daemonSets } = views
  const stale = staleView({ nodes, requests, daemonSets, windows: windows.windows, freezes: windows.freezes })
  const { stateFor, freezes } = windowsNow(windows, nowMs)
  const freeze = freezeText(freezes)
  const untilMs = freezes.active[0]?.untilMs
  const lock = foreignLock(views.daemonSets.values(), nowMs, budget, gone)
  return {
    ...(stale ? { staleView: stale } : {}),
    ...(freeze ? { freeze: { message: freeze, ...(untilMs === undefined ? {} : { untilMs }) } } : {}),
    ...(lock ? { foreignLock: lock } : {}),
    windowOf: stateFor,
    blockerOf: blockersNow(
      budget.spec.blockers ?? [],
      {
        nodes: () => views.nodes.values(),
        pods: () => views.pods.values(),
        podsOn: (nodeName) => views.pods.byIndex(podsByNode, nodeName),
        stalePods: staleView({ pods: views.pods }),
      },
      blockers,
    ),
  }
}
