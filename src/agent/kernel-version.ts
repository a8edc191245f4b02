/** Whether a newer kernel lies on the disk than the one that runs. */

/** Of the names in /boot, those of kernels: `vmlinuz-6.1.0-18-amd64` and the like. */
export function installedKernels(names: readonly string[]): string[] {
  return names.flatMap((name) => /^(?:vmlinuz|vmlinux|kernel|Image)-(\d.*)$/.exec(name)?.[1] ?? [])
}

/** The newest kernel of the same flavour that is newer than the running one. */
export function newerKernel(running: string, installed: readonly string[]): string | undefined {
  const flavour = flavourOf(running)
  const [newest] = installed.filter((one) => flavourOf(one) === flavour).sort((a, b) => compareVersions(b, a))
  return newest !== undefined && compareVersions(newest, running) > 0 ? newest : undefined
}

/** What follows the numbers: `amd64`, `cloud-amd64`, `generic`. Kernels of another one were not meant to replace this one. */
function flavourOf(version: string): string {
  return /-([a-z][a-z0-9-]*)$/.exec(version)?.[1] ?? ''
}

/** By their numbers from left to right; a missing one is lower than 0. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? -1) - (right[index] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersOf(version: string): number[] {
  return (/^[\d.+~-]*/.exec(version)?.[0] ?? '').split(/[^\d]+/).flatMap((part) => (part === '' ? [] : [Number(part)]))
}
