import type { Plugin, Trigger } from '../../plugin.ts'
import { alterAnnotation } from './alter-annotation.ts'
import { alterFinalizer } from './alter-finalizer.ts'
import { alterLabel } from './alter-label.ts'
import { eviction } from './eviction.ts'

export const triggerPlugins: readonly Plugin<Trigger>[] = [alterAnnotation, alterLabel, alterFinalizer, eviction]
