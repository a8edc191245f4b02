import { readFileSync, writeFileSync } from 'node:fs'

/** Kubelet, systemd and containerd of a machine hold a dozen, each control plane as many; 128 are the kernel's default. */
export const enoughWatches = 1_024
const setting = 'fs.inotify.max_user_instances'

/**
 * A kubelet that gets no inotify instance ends, and its node never becomes Ready. The limit holds for all processes of the
 * user, so it is raised until the next boot of the host. Answers what was changed or could not be, for people.
 */
export function allowWatches(file = `/proc/sys/${setting.replaceAll('.', '/')}`): string | undefined {
  const limit = Number(readFileSync(file, 'utf8'))
  if (limit >= enoughWatches) return undefined
  try {
    writeFileSync(file, `${enoughWatches}\n`)
    return `${setting} is raised from ${limit} to ${enoughWatches}: kubelets need more than the default`
  } catch {
    return `${setting} is ${limit}, which may be too few for real nodes: sysctl ${setting}=${enoughWatches}`
  }
}
