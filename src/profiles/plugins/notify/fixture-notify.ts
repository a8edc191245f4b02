import type { KubeClient } from '../../../kube/index.ts'
import type { Clock } from '../../../time/index.ts'
import { nodeOf, noon } from '../../fixture-pass.ts'
import type { NotifyContext, PluginDoors } from '../../plugin.ts'

/** In every value that is secret; it must not be found anywhere else. */
export const canary = 'c4n4ry'

export function notifyContext(more: Partial<NotifyContext> = {}): NotifyContext {
  return {
    profile: 'flatcar',
    lastProfile: 'flatcar',
    state: 'maintenance-required',
    isInMaintenance: false,
    isDetailed: false,
    lastTransitionMs: noon,
    node: nodeOf('node-7', { labels: { team: 'a <b> & c' } }),
    ...more,
  }
}

export function doorsOf(clock: Clock, client: Partial<KubeClient> = {}): PluginDoors {
  return { clock, client: client as KubeClient }
}
