import type { Check, Plugin } from '../../plugin.ts'
import { affinity } from './affinity.ts'
import { anyLabel } from './any-label.ts'
import { clusterSemver } from './cluster-semver.ts'
import { condition } from './condition.ts'
import { hasAnnotation } from './has-annotation.ts'
import { hasLabel } from './has-label.ts'
import { maxMaintenance } from './max-maintenance.ts'
import { nodeCount } from './node-count.ts'
import { prometheusInstant } from './prometheus-instant.ts'
import { stagger } from './stagger.ts'
import { timeWindow } from './time-window.ts'
import { wait } from './wait.ts'
import { waitExclude } from './wait-exclude.ts'

/** In the order of the reference. */
export const checkPlugins: readonly Plugin<Check>[] = [
  affinity,
  anyLabel,
  clusterSemver,
  condition,
  hasAnnotation,
  hasLabel,
  maxMaintenance,
  nodeCount,
  prometheusInstant,
  stagger,
  timeWindow,
  wait,
  waitExclude,
]
