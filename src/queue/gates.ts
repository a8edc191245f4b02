import type { MaintenanceBudget } from '../api/index.ts'
import { blockersNow } from './blockers/index.ts'
import { foreignLock } from './foreign-locks.ts'
import type { ClaimGates } from './obstacles.ts'
import type { QueuePorts } from './ports.ts'
import { behindView, podsByNode, staleView } from './views.ts'
import { freezeText, windowsNow } from './windows/index.ts'

/** Everything that a claim is decided on. */
function claimViews({ views, windows }: Pick<QueuePorts, 'views' | 'windows'>) {
  const { nodes, requests, daemonSets } = views
  return { nodes, requests, daemonSets, windows: windows.windows, freezes: windows.freezes }
}

/** To be asked right before a claim: whether it would be decided on what is not true any more. */
export function staleNow(
  ports: Pick<QueuePorts, 'client' | 'clock' | 'views' | 'windows'>,
  signal: AbortSignal,
): ReturnType<typeof behindView> {
  return behindView(ports, { ...claimViews(ports), pods: ports.views.pods }, signal)
}

/** What stands between a request and its slot at this moment, besides the budget. */
export function gatesNow(
  { views, windows, blockers, clock }: Pick<QueuePorts, 'views' | 'windows' | 'blockers' | 'clock'>,
  budget: MaintenanceBudget,
  /** DaemonSets that were there and are not any more. */
  gone: ReadonlySet<string>,
): ClaimGates {
  const nowMs = clock.now()
  const stale = staleView(claimViews({ views, windows }))
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
