import { lstat, readlink } from 'node:fs/promises'
import { join, normalize } from 'node:path'

/** Parts of a host's file tree as a container sees them: `/var` at `/host/var`, and so on. None: the tree is our own. */
export type HostMounts = Readonly<Record<string, string>>

const mostLinks = 40

/**
 * Where a path of the host lies for us. Links are followed by hand: a link on the host such as `/var/run -> /run` means
 * the host's `/run`, and the kernel would take our own. The last part is followed only by who looks: nobody writes
 * through a link.
 */
export async function hostPath(
  path: string,
  mounts: HostMounts,
  { followsLast = false }: { readonly followsLast?: boolean } = {},
): Promise<string> {
  let rest = partsOf(path)
  let known: string[] = []
  for (let links = 0; rest.length > (followsLast ? 0 : 1); ) {
    const [part = '', ...after] = rest
    const here = [...known, part]
    const target = await linkAt(placeOf(here, mounts))
    if (target === undefined) {
      known = here
      rest = after
      continue
    }
    if (++links > mostLinks) throw new Error(`${path}: too many links`)
    rest = [...partsOf(target.startsWith('/') ? target : join('/', ...known, target)), ...after]
    known = []
  }
  return placeOf([...known, ...rest], mounts)
}

function partsOf(path: string): string[] {
  return normalize(path)
    .split('/')
    .filter((part) => part !== '')
}

/** The longest mount wins: `/var/lib` may lie elsewhere than `/var`. */
function placeOf(parts: readonly string[], mounts: HostMounts): string {
  const path = `/${parts.join('/')}`
  const [mount] = Object.keys(mounts)
    .filter((from) => path === from || path.startsWith(from.endsWith('/') ? from : `${from}/`))
    .sort((a, b) => b.length - a.length)
  return mount === undefined ? path : join(mounts[mount] ?? '', path.slice(mount.length))
}

async function linkAt(place: string): Promise<string | undefined> {
  try {
    return (await lstat(place)).isSymbolicLink() ? await readlink(place) : undefined
  } catch (error) {
    // A folder above a mount point, such as / or /var when only /var/lib is mounted, need not exist for us.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
