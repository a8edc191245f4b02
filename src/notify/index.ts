export { type NotifyCount, NotifyCounts } from './notify-counts.ts'
export { type NotifyPorts, runNotify } from './run-notify.ts'
