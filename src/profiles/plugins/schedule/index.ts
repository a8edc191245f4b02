import type { Plugin, Schedule } from '../../plugin.ts'
import { oneshot } from './oneshot.ts'
import { periodic } from './periodic.ts'
import { scheduled } from './scheduled.ts'

export const schedulePlugins: readonly Plugin<Schedule>[] = [periodic, scheduled, oneshot]
