/** Names of the original that users, dashboards and other controllers know. */
export const profileLabel = 'cloud.sap/maintenance-profile'
export const stateLabel = 'cloud.sap/maintenance-state'
export const logDetailsLabel = 'cloud.sap/maintenance-log-details'
export const dataAnnotation = 'cloud.sap/maintenance-data'
export const profileSeparator = '--'
export const defaultProfile = 'default'
export const originalLease = 'maintenance-controller-leader-election.cloud.sap'

/** From least to most: a node is in the last state that any of its profiles is in. */
export const states = ['operational', 'maintenance-required', 'in-maintenance'] as const
export type State = (typeof states)[number]

export function isState(text: string): text is State {
  return (states as readonly string[]).includes(text)
}
