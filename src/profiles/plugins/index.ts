import type { Registry } from '../config/registry.ts'
import { checkPlugins } from './check/index.ts'
import { notifyPlugins } from './notify/index.ts'
import { schedulePlugins } from './schedule/index.ts'
import { triggerPlugins } from './trigger/index.ts'

/** All that a file may name. */
export const plugins: Registry = {
  check: checkPlugins,
  trigger: triggerPlugins,
  notify: notifyPlugins,
  schedule: schedulePlugins,
}
