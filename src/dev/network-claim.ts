import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DevFault } from './errors.ts'
import { takenBy } from './machine/network.ts'

/**
 * Networks belong to the host, while clusters live in homes that know nothing of each other. So each cluster claims
 * its number in one place for all: a file that names the cluster's folder. A claim whose folder is gone is void.
 */
const claims = join(tmpdir(), 'fettle-networks')
const mostClusters = 250

/** The k of 10.89.k.0/24. Also skips networks that another program on this host has taken, container engines for one. */
export async function claimNetwork(folder: string): Promise<number> {
  // Everybody's, like the folder for temporary files itself: clusters of other users claim here too.
  mkdirSync(claims, { recursive: true, mode: 0o1777 })
  dropVoidClaims()
  for (let index = 0; index < mostClusters; index++) {
    if (await takenBy(index).catch(() => undefined)) continue
    try {
      writeFileSync(join(claims, String(index)), folder, { flag: 'wx' })
      return index
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new DevFault(`${mostClusters} clusters exist on this machine; remove one with \`fettle dev down\``)
}

function dropVoidClaims(): void {
  for (const name of readdirSync(claims)) {
    const owner = ownerOf(name)
    if (owner !== undefined && !existsSync(owner)) rmSync(join(claims, name), { force: true })
  }
}

export function releaseNetwork(folder: string): void {
  if (!existsSync(claims)) return
  for (const name of readdirSync(claims)) if (ownerOf(name) === folder) rmSync(join(claims, name), { force: true })
}

function ownerOf(name: string): string | undefined {
  try {
    return readFileSync(join(claims, name), 'utf8') || undefined
  } catch {
    return undefined
  }
}
