import type { MaintenanceRequest, NotifyOccasion } from '../api/index.ts'

/** What there is to tell when a request has changed: that it entered a phase that people wait for, or dread. */
export function occasionOf(old: MaintenanceRequest, now: MaintenanceRequest): NotifyOccasion | undefined {
  const [before, after] = [old.status?.phase, now.status?.phase]
  // Another object of the same name has not entered anything.
  if (before === after || old.metadata.uid !== now.metadata.uid) return undefined
  switch (after) {
    case 'Claimed':
      return 'Drain'
    case 'Rebooting':
      return 'Reboot'
    case 'Held':
      return 'Held'
    case 'Done':
      return before === 'Finishing' || hadPermission(now) ? 'Return' : undefined
    // The drain took too long: the node is back, and its turn will come again.
    case 'Queued':
      return before === 'Finishing' ? 'Return' : undefined
    case 'Granted':
    case 'Finishing':
    case undefined:
      return undefined
  }
}

function hadPermission({ status }: MaintenanceRequest): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'PermissionGiven' && is === 'True') ?? false
}
