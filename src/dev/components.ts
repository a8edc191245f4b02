import { readdirSync, readFileSync } from 'node:fs'
import { type ProcessIdentity, startTicksOf } from '../host/index.ts'

/**
 * Each process of a cluster carries these two variables. The process table is the only record of what runs:
 * a file of process ids would be wrong after the first crash.
 */
export const clusterVariable = 'FETTLE_DEV_CLUSTER'
export const componentVariable = 'FETTLE_DEV_COMPONENT'

export interface RunningComponent {
  readonly component: string
  readonly identity: ProcessIdentity
}

export function markedEnvironment(folder: string, component: string): Readonly<Record<string, string>> {
  return { [clusterVariable]: folder, [componentVariable]: component }
}

/** Everything that runs for the cluster in this folder, children included. */
export function runningComponents(folder: string): RunningComponent[] {
  const found: RunningComponent[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const component = componentOf(Number(name), folder)
    const startTicks = startTicksOf(Number(name))
    if (component && startTicks !== undefined) found.push({ component, identity: { pid: Number(name), startTicks } })
  }
  return found
}

function componentOf(pid: number, folder: string): string | undefined {
  let environment: string[]
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
  } catch {
    // Gone, or another user's.
    return undefined
  }
  if (!environment.includes(`${clusterVariable}=${folder}`)) return undefined
  const entry = environment.find((line) => line.startsWith(`${componentVariable}=`))
  return entry?.slice(componentVariable.length + 1)
}
