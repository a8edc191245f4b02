/** How a person speaks to the queue: annotations that the controller acts on once, records and removes. */

/** On a MaintenanceRequest. */
export const verbAnnotations = {
  verb: 'fettle.dev/verb',
  reason: 'fettle.dev/verb-reason',
  by: 'fettle.dev/verb-by',
} as const

/** On the MaintenanceBudget: the slot of the node with this UID is freed, although no request of it is left to end. */
export const releaseAnnotations = {
  slot: 'fettle.dev/release-slot',
  reason: 'fettle.dev/release-reason',
  by: 'fettle.dev/release-by',
} as const

/** On a Node: it is rebooted when its turn comes; the value is the reason. The controller removes it when that is over. */
export const rebootAnnotation = 'fettle.dev/reboot'
/** The key of the requests that are made for it. */
export const rebootAnnotationKey = 'annotation'

export const requestVerbs = ['retry', 'release', 'skip', 'abort'] as const
export type RequestVerb = (typeof requestVerbs)[number]

/** As long as a status can record it: what is longer could never be written down, and so never be acted on. */
export const longestReason = 256
