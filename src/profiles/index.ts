export { ConfigFile } from './config/config-file.ts'
export { loadConfig } from './config/load.ts'
export { isProfileOwner } from './cordon-draft.ts'
export { ProfileCounts } from './counts.ts'
export { unwritten } from './events.ts'
export {
  explainNode,
  type NodeExplanation,
  type ProfileExplanation,
  type TransitionExplanation,
  type Warning,
} from './explain.ts'
export { InfoBoard, type NodeInfo } from './info.ts'
export {
  dataAnnotation,
  defaultProfile,
  originalLease,
  profileLabel,
  profileSeparator,
  stateLabel,
  states,
} from './names.ts'
export { isFettle, type LeadsElsewhere, leaseIdentity, OriginalElsewhere } from './original-elsewhere.ts'
export type { ConfigProblem, ProfilesConfig } from './plugin.ts'
export { plugins } from './plugins/index.ts'
export { problemText } from './problem-text.ts'
export { type ProfilesLog, runProfiles } from './run-profiles.ts'
export type { WorkloadObject } from './shuffles.ts'
export { readData } from './state/data.ts'
export { progressAnnotation, readProgress, withoutWays } from './state/progress.ts'
export { abortAnnotation, abortReasonAnnotation, abortsOf, pauseAnnotation } from './state/verbs.ts'
